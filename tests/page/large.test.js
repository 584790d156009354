// 10,000 fields, 100,000 distinct values, records without a time: the page stays small and quick to walk.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { DATA, field, file, folder, idle, open, serve, texts } from './harness.js';
import { flat, many, wide } from './data.js';

const scratch = folder();

test('10,100 fields are a tree of few elements', async () => {
  const { url, stop } = await serve([file(join(scratch, 'wide.ndjson'), [...wide(5)])]);
  const page = await open(url);
  assert.equal(await page.textContent('#fields-count'), '10,100');
  await page.focus('#tree');
  await page.keyboard.press('*');
  await page.keyboard.press('End');
  const last = await page.getAttribute('#tree', 'aria-activedescendant');
  assert.equal(last, 'tree-10099');
  assert.match(await page.textContent(`#${last}`), /^field_09999/);
  assert.ok((await page.locator('#tree .row').count()) < 120);
  assert.ok((await page.evaluate(() => document.querySelectorAll('*').length)) < 4000);
  await page.fill('#find-field', '_0512');
  assert.match(await page.textContent('#fields-count'), /^10 of 10,100$/);
  await field(page, '$.part_51.field_05123').locator('.field-name').click();
  await page.waitForSelector('.row-value >> text=5123');
  await page.focus('#condition');
  await page.keyboard.type('$.part_51.field_0');
  await page.waitForSelector('#completions li');
  assert.equal(await page.locator('#completions li').count(), 50);
  assert.deepEqual(page.faults, []);
  await page.context().close();
  await stop();
});

test('a record of 10,000 members opens a group at a time', async () => {
  const { url, stop } = await serve([file(join(scratch, 'flat.ndjson'), [flat()])]);
  const page = await open(url);
  await page.click('#record-0');
  await page.waitForSelector('#panel .more');
  assert.equal(await page.locator('#panel .twig').count(), 200);
  await page.click('#panel .more');
  assert.equal(await page.locator('#panel .twig').count(), 400);
  await page.click('#panel .filters >> text=/^321$/');
  await idle(page);
  assert.equal(await page.inputValue('#condition'), '$.field_321 == 321');
  assert.match(await page.textContent('#status'), /^1 of 1 record/);
  assert.deepEqual(page.faults, []);
  await page.context().close();
  await stop();
});

test('100,000 distinct values are a list of few elements', async () => {
  const { url, stop } = await serve([file(join(scratch, 'many.ndjson'), [...many(100_000)])]);
  const page = await open(url, { fragment: '#field=%24.id' });
  await page.waitForSelector('.bar-row');
  assert.equal(await page.textContent('.bars-head h3'), 'Top 100 values');
  await page.click('#all-values');
  await page.waitForSelector('.bars-head h3 >> text=100,000 values');
  assert.ok((await page.locator('.bar-row').count()) < 100);
  await page.focus('.bars');
  await page.keyboard.press('End');
  await page.waitForSelector('.bar-row[aria-selected=true]');
  assert.equal(await page.getAttribute('.bar-row[aria-selected=true]', 'aria-posinset'), '100000');
  await page.fill('[aria-label="Find a value"]', '-042421');
  await page.waitForFunction(() => document.querySelectorAll('.bar-row').length === 1);
  assert.deepEqual(await texts(page, '.bar-row .value'), ['id-042421']);
  await page.click('.bar-row >> nth=0');
  await idle(page);
  assert.match(await page.textContent('#status'), /^1 of 100,000 records/);
  await page.click('#clear');
  await idle(page);
  await field(page, '$.n').locator('.field-name').hover();
  await field(page, '$.n').locator('[data-do=bars]').click();
  await page.waitForSelector('.bins');
  const counts = await page.$$eval('.bin', (bins) =>
    bins.map((bin) => Number(bin.getAttribute('aria-label').split(': ')[1].replace(/[^\d]/g, ''))),
  );
  assert.ok(
    counts.every((n) => Math.abs(n - 100_000 / counts.length) < 1000),
    'a flat distribution is flat',
  );
  assert.deepEqual(page.faults, []);
  await page.context().close();
  await stop();
});

test('records without a time have no histogram, and everything else', async () => {
  const records = Array.from({ length: 80 }, (_, n) => ({ n, name: `product ${n}` }));
  const { url, stop } = await serve([file(join(scratch, 'timeless.ndjson'), records)]);
  const page = await open(url);
  await page.waitForFunction(() =>
    /No field of these records has times/.test(document.querySelector('.chart .empty')?.textContent),
  );
  assert.match(await page.textContent('#status'), /^80 records/);
  assert.deepEqual(await texts(page, '#order option'), ['as stored']);
  await page.keyboard.press('h');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Enter');
  assert.ok(await page.isHidden('#unzoom'));
  assert.deepEqual(page.faults, []);
  await page.context().close();
  await stop();
});

test('no records at all', async () => {
  const { url, stop } = await serve([join(DATA, 'blank.ndjson')]);
  const page = await open(url);
  assert.match(await page.textContent('#status'), /^0 records/);
  assert.match(await page.textContent('#records'), /No record matches/);
  assert.deepEqual(page.faults, []);
  await page.context().close();
  await stop();
});
