// The live tail: records that are appended while the page is open.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { append, folder, open, store, texts } from './harness.js';
import { log } from './data.js';

const RECORDS = log(300);
const scratch = folder();

const record = (n, level = 'info') => ({ time: '2026-03-02T23:00:00.000Z', level, n });

/** A page whose live tail runs. */
async function live(url) {
  const page = await open(url);
  const following = page.waitForRequest((r) => r.url().endsWith('/query') && r.postDataJSON().follow);
  await page.keyboard.press('t');
  await following;
  await page.waitForSelector('#live-state:not([hidden])');
  return page;
}

const rows = (page, count) =>
  page.waitForFunction(
    (n) => document.querySelector('#records').getAttribute('aria-rowcount') === String(n),
    count,
  );

test('new records come in at the top', async () => {
  const server = await store(join(scratch, 'one.wp'), RECORDS);
  const page = await live(server.url);
  assert.match(await page.textContent('#records'), /Waiting for new records/);
  assert.equal(await page.getAttribute('#live', 'aria-pressed'), 'true');
  await append(server, [record(1), record(2)]);
  await rows(page, 2);
  await append(server, [record(3)]);
  await rows(page, 3);
  assert.deepEqual(
    (await texts(page, '.record')).map((text) => /n(\d)/.exec(text)[1]),
    ['3', '2', '1'],
  );
  assert.match(await page.textContent('#live-state'), /Live, 3 new records/);
  await page.keyboard.press('t');
  await page.waitForFunction(() => document.querySelector('#status').textContent.startsWith('303 records'));
  assert.ok(await page.isHidden('#live-state'));
  assert.deepEqual(page.faults, []);
});

test('a pause holds records back, and loses none', async () => {
  const server = await store(join(scratch, 'two.wp'), RECORDS);
  const page = await live(server.url);
  await append(server, [record(1)]);
  await rows(page, 1);
  await page.keyboard.press('p');
  assert.equal(await page.getAttribute('#pause', 'aria-pressed'), 'true');
  await append(server, [record(2), record(3)]);
  await page.waitForFunction(() => document.querySelector('#live-state').textContent === 'Paused, 2 waiting');
  assert.equal(await page.getAttribute('#records', 'aria-rowcount'), '1');
  await page.click('#pause');
  await rows(page, 3);
  assert.deepEqual(
    (await texts(page, '.record')).map((text) => /n(\d)/.exec(text)[1]),
    ['3', '2', '1'],
  );
});

test('the condition applies to what comes, and a new one starts anew', async () => {
  const server = await store(join(scratch, 'three.wp'), RECORDS);
  const page = await live(server.url);
  const following = page.waitForRequest(
    (r) =>
      r.url().endsWith('/query') &&
      r.postDataJSON().follow &&
      r.postDataJSON().where === '$.level == "error"',
  );
  const cancelled = page.waitForEvent(
    'requestfailed',
    (r) => r.url().endsWith('/query') && r.postDataJSON().follow,
  );
  await page.fill('#condition', '$.level == "error"');
  await following;
  await cancelled;
  await append(server, [record(1), record(2, 'error')]);
  await rows(page, 1);
  assert.match(await page.textContent('#record-0'), /n2/);
});
