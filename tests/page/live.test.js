// The live tail: records that are appended while the page is open.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { append, folder, open, store } from './harness.js';
import { log } from './data.js';

const RECORDS = log(300);
const scratch = folder();

const record = (n, level = 'info') => ({ time: '2026-03-02T23:00:00.000Z', level, n });

/** The numbers of the rows, from the top, without those of `begun`. */
function rows(page) {
  return page.$$eval('.record', (all) =>
    all.map((row) => Number(/n(\d+)/.exec(row.textContent)[1])).filter((n) => n < 1000),
  );
}

/** Waits until the row at the top has this number. */
function top(page, n) {
  return page.waitForFunction(
    (text) => new RegExp(text).test(document.querySelector('#record-0')?.textContent),
    `n${n}(?!\\d)`,
  );
}

/**
 * Waits until the tail has begun on the server: records are appended until one of them comes, and then a last
 * one. What is appended after that comes, too.
 */
async function begun(page, server, level) {
  let n = 1000;
  while ((await page.locator('.record').count()) === 0) {
    await append(server, [record(n, level)]);
    n += 1;
  }
  await append(server, [record(n, level)]);
  await top(page, n);
  return n - 999;
}

/** A page whose live tail runs. */
async function live(server) {
  const page = await open(server.url);
  await page.keyboard.press('t');
  await page.waitForSelector('#live-state:not([hidden])');
  return page;
}

test('new records come in at the top', async () => {
  const server = await store(join(scratch, 'one.wp'), RECORDS);
  const page = await live(server);
  // The rows before the tail are not new.
  assert.equal(await page.textContent('#live-state'), 'Live, 0 new records');
  await page.waitForSelector('#records >> text="Waiting for new records."');
  assert.equal(await page.getAttribute('#live', 'aria-pressed'), 'true');
  const before = await begun(page, server, 'info');
  await append(server, [record(1), record(2)]);
  await append(server, [record(3)]);
  await top(page, 3);
  assert.deepEqual(await rows(page), [3, 2, 1]);
  assert.match(await page.textContent('#live-state'), /^Live, \d+ new records$/);
  await page.keyboard.press('t');
  const total = `${RECORDS.length + before + 3} records`;
  await page.waitForFunction((text) => document.querySelector('#status').textContent.startsWith(text), total);
  assert.ok(await page.isHidden('#live-state'));
  assert.deepEqual(page.faults, []);
});

test('a pause holds records back, and loses none', async () => {
  const server = await store(join(scratch, 'two.wp'), RECORDS);
  const page = await live(server);
  await begun(page, server, 'info');
  await append(server, [record(1)]);
  await top(page, 1);
  await page.keyboard.press('p');
  assert.equal(await page.getAttribute('#pause', 'aria-pressed'), 'true');
  await append(server, [record(2), record(3)]);
  await page.waitForSelector('#live-state >> text="Paused, 2 waiting"');
  assert.deepEqual(await rows(page), [1]);
  await page.click('#pause');
  await top(page, 3);
  assert.deepEqual(await rows(page), [3, 2, 1]);
});

test('the condition applies to what comes, and a new one starts anew', async () => {
  const server = await store(join(scratch, 'three.wp'), RECORDS);
  const page = await live(server);
  await begun(page, server, 'info');
  const cancelled = page.waitForEvent(
    'requestfailed',
    (r) => r.url().endsWith('/query') && r.postDataJSON().follow,
  );
  await page.fill('#condition', '$.level == "error"');
  await cancelled;
  await page.waitForFunction(() => document.querySelectorAll('.record').length === 0);
  await begun(page, server, 'error');
  await append(server, [record(1), record(2, 'error'), record(3), record(4, 'error')]);
  await top(page, 4);
  assert.deepEqual(await rows(page), [4, 2]);
  assert.deepEqual(page.faults, []);
});

test('records far from all others are in the histogram, whose buckets become longer', async () => {
  const server = await store(join(scratch, 'four.wp'), RECORDS);
  const page = await live(server);
  await begun(page, server, 'info');
  await append(server, [{ time: '2031-01-01T00:00:00Z', level: 'info', n: 1 }]);
  await top(page, 1);
  await page.waitForSelector('#bucket >> text=/^1mo for each bar/');
  const last = Date.UTC(2031, 0, 1);
  await page.waitForSelector(`.bar-time[data-from="${last}"][data-count="1"]`, { state: 'attached' });
});
