// Draws docs/page-*.png: `tests/page.sh screenshots`. It is no test, but what it shows is tested elsewhere.

import { join } from 'node:path';
import test from 'node:test';
import { PAGE, ask, append, field, folder, idle, open, store, valuesOf } from './harness.js';
import { log } from './data.js';

const DOCS = join(PAGE, '../../../docs');
const scratch = folder();
const server = await store(join(scratch, 'logs.wp'), log(20_000));
const shot = async (page, name) => {
  await idle(page);
  await page.screenshot({ path: join(DOCS, `page-${name}.png`), animations: 'disabled' });
  await page.context().close();
};
const columns = ['$.level', '$.status', '$.path', '$.ms']
  .map((path) => `col=${encodeURIComponent(path)}`)
  .join('&');

test('the schema, with the values of some fields', async () => {
  const page = await open(server.url, { colorScheme: 'light' });
  await valuesOf(page, '$.level');
  await field(page, '$.host').locator('.field-name').click();
  await page.locator('.row-value >> text=web-6').waitFor();
  await page.mouse.move(700, 600);
  await shot(page, 'schema');
});

test('completion', async () => {
  const page = await open(server.url, { colorScheme: 'dark' });
  await valuesOf(page, '$.level');
  await page.focus('#condition');
  await page.fill('#condition', '$.status >= 500 and $.error.code in ("E1",');
  await page.keyboard.type(' ');
  await page.waitForSelector('.completion-value');
  await page.keyboard.press('ArrowDown');
  await shot(page, 'completion');
});

test('a fault', async () => {
  const page = await open(server.url, { colorScheme: 'light' });
  await ask(page, '$.status >= 500 and $.user.lang === "nl"');
  await page.waitForSelector('#fault:not([hidden])');
  await shot(page, 'fault');
});

test('a range of time', async () => {
  const page = await open(server.url, {
    colorScheme: 'dark',
    fragment: `#q=${encodeURIComponent('$.status >= 500')}&${columns}`,
  });
  const chart = await page.locator('#chart').boundingBox();
  await page.mouse.move(chart.x + chart.width * 0.38, chart.y + 60);
  await page.mouse.down();
  await page.mouse.move(chart.x + chart.width * 0.47, chart.y + 60, { steps: 5 });
  await shot(page, 'time');
});

test('a record', async () => {
  const page = await open(server.url, {
    colorScheme: 'light',
    fragment: `#q=${encodeURIComponent('$.status >= 500')}&${columns}&sort=${encodeURIComponent('$.time:desc')}`,
  });
  await page.click('.record >> nth=3');
  await page.waitForSelector('#panel .json');
  await shot(page, 'record');
});

test('a field', async () => {
  const page = await open(server.url, { colorScheme: 'dark', fragment: '#field=%24.ms' });
  await page.waitForSelector('.bins');
  await page.waitForSelector('.bar-row');
  await page.mouse.move(700, 600);
  await shot(page, 'field');
});

test('the live tail', async () => {
  const page = await open(server.url, { colorScheme: 'light' });
  await page.keyboard.press('t');
  await page.waitForSelector('#live-state:not([hidden])');
  const records = log(60).map((record, i) => ({
    ...record,
    time: new Date(Date.UTC(2026, 2, 2, 22) + i * 700).toISOString(),
  }));
  // One by one until the tail has begun, and then all others.
  while ((await page.locator('.record').count()) === 0) await append(server, records.splice(0, 1));
  await append(server, records);
  await page.waitForSelector(`#record-0 >> text=${records.at(-1).time.slice(11, 23)}`);
  await shot(page, 'live');
});
