// Records that attack the page: it shows their text, and nothing of them runs, hides or is rounded.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { ask, field, file, folder, idle, open, serve, texts } from './harness.js';
import { hostile, IMAGE, SCRIPT } from './data.js';

const scratch = folder();
const { url } = await serve([file(join(scratch, '<b>hostile & $(id).ndjson'), hostile())]);

/** Nothing of a record has become an element or has run, and the policy had nothing to forbid. */
async function harmless(page) {
  assert.deepEqual(page.faults, []);
  assert.equal(await page.evaluate(() => window.ran), undefined);
  assert.equal(await page.evaluate(() => ({}).polluted), undefined);
  assert.equal(
    await page.locator('body script, body img, body b, body svg[onload], body [onerror]').count(),
    0,
  );
}

test('the policy allows no script of the page itself to be made of text', async () => {
  const response = await fetch(`${url}/`);
  const policy = response.headers.get('content-security-policy');
  assert.match(policy, /default-src 'none'/);
  assert.match(policy, /script-src 'self'(?:;|$)/);
  assert.match(policy, /style-src 'self'(?:;|$)/);
  assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
  const html = await response.text();
  assert.doesNotMatch(html, /\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)|<style|https?:\/\/(?!www\.w3\.org)/);
  // The test of the test: such a script would be noticed.
  const page = await open(url);
  await page.evaluate(() =>
    document.body.append(
      Object.assign(document.createElement('script'), { textContent: 'window.ran = true' }),
    ),
  );
  await page.waitForFunction(() => true);
  await page.evaluate(() => 0);
  assert.ok(
    page.faults.some((fault) => fault.startsWith('policy: script-src')),
    page.faults.join(),
  );
  assert.equal(await page.evaluate(() => window.ran), undefined);
});

test('markup is text: in rows, fields, values, the record, titles, completions, the command', async () => {
  const page = await open(url);
  assert.ok((await page.textContent('#record-0')).includes(SCRIPT));
  assert.ok((await texts(page, '.field-name')).includes(IMAGE));
  await field(page, '$.text').locator('.field-name').click();
  await page.waitForSelector('.row-value');
  assert.ok((await texts(page, '.row-value .value')).some((text) => text.startsWith('<script>window.ran')));
  await page.locator('.row-value', { hasText: '<script>' }).click();
  await idle(page);
  assert.match(await page.textContent('#status'), /^1 of 10 records/);
  assert.ok((await page.inputValue('#condition')).includes('<script>'));
  assert.ok((await page.getAttribute('#command', 'data-text')).includes("'./<b>hostile") === false);
  assert.match(await page.textContent('#command'), /'<b>hostile & \$\(id\)\.ndjson'$/);
  await page.click('#record-0');
  await page.waitForSelector('#panel .json');
  assert.ok((await page.textContent('#panel .json')).includes(SCRIPT));
  await page.click('#clear');
  await idle(page);
  await page.focus('#condition');
  await page.keyboard.type('$.text == ');
  await page.waitForSelector('#completions .completion-value');
  await page.fill('#condition', '$.text == <script>alert(1)</script>');
  await page.waitForSelector('#fault:not([hidden])');
  await harmless(page);
});

test('a name full of markup and quotes filters, and becomes a column and bars', async () => {
  const page = await open(url);
  const rows = await page.$$eval('.row-field', (all) => all.map((row) => row.dataset.path));
  for (const path of rows.filter((p) => p.includes('onerror') || p.includes("a\\'b"))) {
    await page.locator('.row-field').nth(rows.indexOf(path)).hover();
    await page.locator('.row-field').nth(rows.indexOf(path)).locator('[data-do=bars]').click();
    await page.waitForSelector('.bar-row');
    await page.click('.bar-row');
    await idle(page);
    assert.match(await page.textContent('#status'), /^1 of 10 records/, path);
    await page.click('#clear');
    await idle(page);
  }
  await harmless(page);
});

test('numbers beyond doubles are shown and filtered as they are written', async () => {
  const page = await open(url);
  await ask(page, '$.kind == "numbers"');
  const row = await page.textContent('#record-0');
  for (const text of ['9007199254740993', '12345678901234567890123', '0.1000000000000000000001', '1e400'])
    assert.ok(row.includes(text), text);
  await page.click('#record-0');
  const tree = await texts(page, '#panel .j-number');
  assert.deepEqual(tree, [
    '9007199254740993',
    '12345678901234567890123',
    '0.1000000000000000000001',
    '1e400',
  ]);
  await page.click('#panel .j-number >> text=9007199254740993');
  await idle(page);
  assert.equal(await page.inputValue('#condition'), '$.kind == "numbers" and $.n == 9007199254740993');
  assert.match(await page.textContent('#status'), /^1 of 10 records/);
  await ask(page, '$.n == 9007199254740992');
  assert.match(await page.textContent('#status'), /^0 of 10 records/, 'its neighbour is another number');
  await harmless(page);
});

test('lone surrogates, control characters and marks of direction are written out', async () => {
  const page = await open(url);
  const shown = async (kind) => {
    await ask(page, `$.kind == "${kind}"`);
    return page.$$eval('#record-0 .hidden-char', (all) => all.map((element) => element.textContent));
  };
  assert.deepEqual(await shown('surrogates'), ['\\ud800', '\\udc00']);
  assert.deepEqual(await shown('direction'), ['\\u202e', '\\u202c', '\\u2066', '\\u2069']);
  assert.deepEqual(await shown('controls'), ['\\t', '\\u0000', '\\u001b', '\\u0007', '\\u200b']);
  assert.equal((await page.textContent('#records')).match(/[\u0000-\u0008\u200b\u202e]/), null);
  // A value with a lone surrogate has no literal, so nothing offers to filter it.
  await ask(page, '$.kind == "surrogates"');
  await page.click('#record-0');
  await page.waitForSelector('#panel .json');
  const leaves = await page.$$eval('#panel .filters', (all) => all.map((element) => element.textContent));
  assert.equal(leaves.length, 2, leaves.join());
  await harmless(page);
});

test('text from right to left stays within its cell', async () => {
  const page = await open(url);
  await ask(page, '$.kind == "right to left"');
  const values = await page.$$eval('#record-0 bdi', (all) =>
    all.map((element) => ({
      text: element.textContent,
      isolate: getComputedStyle(element).unicodeBidi,
      left: element.getBoundingClientRect().left,
    })),
  );
  assert.ok(values.every((value) => value.isolate === 'isolate'));
  const lefts = values.map((value) => value.left);
  assert.deepEqual(
    lefts,
    [...lefts].sort((a, b) => a - b),
    'names and values keep their order',
  );
  await harmless(page);
});

test('repeated names, and names that JavaScript knows', async () => {
  const page = await open(url);
  await ask(page, '$.kind == "names"');
  await page.click('#record-0');
  await page.waitForSelector('#panel .json');
  const keys = await texts(page, '#panel .json > .branch > .twig > .twig-line > .key');
  assert.deepEqual(keys, ['at', 'a', 'a', '__proto__', 'constructor', 'kind']);
  await harmless(page);
});

test('a record cannot speak as the server', async () => {
  const page = await open(url);
  assert.match(await page.textContent('#status'), /^10 records/);
  assert.equal(await page.getAttribute('#records', 'aria-rowcount'), '10');
  assert.ok(await page.isHidden('#fault'), 'the last record, which looks like an error, is a record');
  assert.equal(await page.textContent('#notes'), '');
  assert.match(await page.textContent('#record-9'), /from a record/);
  await ask(page, '$.kind == "notes"');
  assert.match(await page.textContent('#record-0'), /\$notes/);
  assert.doesNotMatch(await page.textContent('#notes'), /from a record/);
  await harmless(page);
});
