// Reach by keyboard and by readers of the screen, contrast in both colour schemes, and sizes of windows.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import test from 'node:test';
import { ask, field, file, folder, idle, open, serve, valuesOf } from './harness.js';
import { log } from './data.js';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const scratch = folder();
const { url } = await serve([file(join(scratch, 'log.ndjson'), log(1000))]);

/** The violations that axe finds in the page, as text. */
async function violations(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.html.slice(0, 120)} ${node.failureSummary.replaceAll('\n', ' ')}`),
  );
}

for (const colorScheme of ['light', 'dark']) {
  test(`roles, names and contrast: ${colorScheme}`, async () => {
    const page = await open(url, { colorScheme });
    assert.deepEqual(await violations(page), [], 'at the start');
    await valuesOf(page, '$.level');
    await page.click('.record >> nth=2');
    await page.waitForSelector('#panel .json');
    assert.deepEqual(await violations(page), [], 'with a record');
    await field(page, '$.ms').hover();
    await field(page, '$.ms').locator('[data-do=bars]').click();
    await page.waitForSelector('.bins');
    await ask(page, '$.status >> 1');
    await page.waitForSelector('#fault:not([hidden])');
    assert.deepEqual(await violations(page), [], 'with bars and a fault');
    await ask(page, '$.stat == 200');
    await page.focus('#condition');
    await page.keyboard.press('Control+Space');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.keyboard.press('?');
    await page.waitForSelector('#dialog[open]');
    assert.deepEqual(await violations(page), [], 'with shortcuts');
  });
}

test('Tab reaches each part, and the focus is visible', async () => {
  const page = await open(url);
  const reached = [];
  for (let i = 0; i < 30; i += 1) {
    await page.keyboard.press('Tab');
    const at = await page.evaluate(() => {
      const element = document.activeElement;
      const style = getComputedStyle(element);
      const ring = style.outlineStyle !== 'none' || style.boxShadow !== 'none';
      return { id: element.id || element.textContent, ring, body: element === document.body };
    });
    if (at.body) break;
    assert.ok(at.ring, `${at.id} shows its focus`);
    reached.push(at.id);
  }
  for (const id of [
    'inputs',
    'condition',
    'live',
    'theme',
    'help',
    'find-field',
    'tree',
    'time',
    'chart',
    'order',
    'records',
    'command',
    'copy',
  ])
    assert.ok(reached.includes(id), `${id} in ${reached.join()}`);
});

test('the switch goes from the system to light and dark, and is kept', async () => {
  const page = await open(url, { colorScheme: 'light' });
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await ground();
  assert.notEqual(light, dark, 'the system decides at first');
  await page.click('#theme');
  assert.equal(await ground(), light);
  await page.keyboard.press('d');
  assert.equal(await ground(), dark);
  await page.reload();
  await idle(page);
  await page.emulateMedia({ colorScheme: 'light' });
  assert.equal(await ground(), dark, 'the choice outlives the page');
});

test('every shortcut that is listed does what it says', async () => {
  const page = await open(url);
  const active = () => page.evaluate(() => document.activeElement.id);
  await page.keyboard.press('?');
  const keys = await page.$$eval('#dialog section:first-child kbd', (all) =>
    all.map((key) => key.textContent),
  );
  const close = async () => {
    await page.keyboard.press('Escape');
    await page.waitForSelector('#dialog', { state: 'hidden' });
  };
  await close();
  const does = {
    '/': async () => assert.equal(await active(), 'condition'),
    f: async () => assert.equal(await active(), 'tree'),
    h: async () => assert.equal(await active(), 'chart'),
    r: async () => assert.equal(await active(), 'records'),
    t: async () => assert.equal(await page.getAttribute('#live', 'aria-pressed'), 'true'),
    p: async () => assert.equal(await page.getAttribute('#pause', 'aria-pressed'), 'true'),
    c: async () =>
      page.waitForFunction(
        () =>
          document.querySelector('#copy').textContent === 'Copied' ||
          String(getSelection()).includes('warpath'),
      ),
    d: async () => assert.equal(await page.getAttribute('html', 'data-theme'), 'light'),
    '?': async () => assert.ok(await page.isVisible('#dialog')),
    Esc: async () => assert.ok(await page.isHidden('#panel')),
  };
  assert.deepEqual(keys, Object.keys(does));
  for (const key of keys) {
    await page.keyboard.press(key === 'Esc' ? 'Escape' : key);
    await does[key]();
    if (key === '?') await close();
    // Keys are text in the box, and commands everywhere else.
    if (key === '/') await page.keyboard.press('Escape');
  }
});

test('nothing is cut off or scrolls sideways at 1,280 × 800 and smaller', async () => {
  for (const [width, height] of [
    [1280, 800],
    [1000, 700],
    [1920, 1080],
  ]) {
    const page = await open(url, { viewport: { width, height } });
    await page.click('.record >> nth=1');
    const overflow = await page.evaluate(() => [
      document.documentElement.scrollWidth > innerWidth,
      document.documentElement.scrollHeight > innerHeight,
    ]);
    assert.deepEqual(overflow, [false, false], `${width} × ${height}`);
    for (const id of ['condition', 'live', 'tree', 'chart', 'records', 'copy']) {
      const box = await page.locator(`#${id}`).boundingBox();
      assert.ok(
        box.x >= 0 && box.x + box.width <= width && box.y + box.height <= height && box.width > 20,
        `${id} at ${width}`,
      );
    }
    await page.context().close();
  }
});

test('without a pointer the page offers the same: a filter, a column, bars, a record', async () => {
  const page = await open(url);
  await page.keyboard.press('f');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('c');
  await page.waitForSelector('.head-cell >> text=level');
  await page.keyboard.press('b');
  await page.waitForSelector('.bar-row');
  await page.focus('.bars');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Shift+Enter');
  await idle(page);
  assert.match(await page.inputValue('#condition'), /^\$\.level != "/);
});
