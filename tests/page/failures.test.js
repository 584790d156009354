// What goes wrong between the page and the server: errors, a token, requests that are overtaken, no server.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { ask, file, folder, idle, open, serve } from './harness.js';
import { log } from './data.js';

const scratch = folder();
const LOG = file(join(scratch, 'log.ndjson'), log(500));

test('each key cancels the requests of the key before', async () => {
  const { url } = await serve([LOG]);
  const page = await open(url);
  const held = [];
  // The first answer is held back, so that it is surely under way when the next key comes.
  await page.route('**/query', (route) => {
    if (route.request().postDataJSON().where === '$.a') held.push(route);
    else route.continue();
  });
  const cancelled = page.waitForEvent(
    'requestfailed',
    (r) => r.url().endsWith('/query') && r.postDataJSON().where === '$.a',
  );
  const sent = page.waitForEvent(
    'request',
    (r) => r.url().endsWith('/query') && r.postDataJSON().where === '$.a',
  );
  await page.focus('#condition');
  await page.keyboard.type('$.a');
  await sent;
  await page.keyboard.type('b');
  assert.equal((await cancelled).failure().errorText, 'net::ERR_ABORTED');
  await idle(page);
  assert.match(await page.textContent('#notes'), /`\$\.ab`/, 'the last question is answered');
  assert.ok(await page.isHidden('#offline'), 'a cancelled request is no lost server');
  assert.equal(held.length, 1);
  assert.deepEqual(page.faults, []);
});

test('an answer that fails after its first rows shows them and the error', async () => {
  const { url } = await serve([LOG]);
  const page = await open(url);
  await page.route('**/query', (route) => {
    if (route.request().postDataJSON().count) return route.continue();
    return route.fulfill({
      status: 200,
      contentType: 'application/x-ndjson',
      body: '{"a":1}\n{"a":2}\n{"$error":{"message":"the store was cut","help":"check it"}}\n',
    });
  });
  await page.fill('#condition', '$.a');
  await page.waitForSelector('#fault:not([hidden])');
  assert.equal(await page.textContent('.fault-message'), 'the store was cut');
  assert.equal(await page.getAttribute('#records', 'aria-rowcount'), '2');
  assert.deepEqual(page.faults, []);
});

test('a link with a fault, or with an input that is gone, says so and can be mended', async () => {
  const { url } = await serve([LOG, file(join(scratch, 'other.ndjson'), log(20))]);
  const wrong = await open(url, { fragment: `#q=${encodeURIComponent('$.level ==')}` });
  await wrong.waitForSelector('#fault:not([hidden])');
  await wrong.waitForSelector('#fields [role=treeitem]');
  assert.equal(await wrong.textContent('#status'), '');
  await wrong.fill('#condition', '');
  await wrong.waitForFunction(() => document.querySelector('#status').textContent.startsWith('520 records'));
  assert.deepEqual(wrong.faults, []);

  const gone = await open(url, { fragment: '#in=gone.ndjson' });
  await gone.waitForSelector('#fault:not([hidden])');
  assert.match(await gone.textContent('.fault-message'), /gone\.ndjson: is not among the inputs/);
  assert.equal(await gone.textContent('#status'), '');
  await gone.waitForFunction(() => document.querySelectorAll('#inputs option').length === 4);
  await gone.selectOption('#inputs', '');
  await gone.waitForFunction(() => document.querySelector('#status').textContent.startsWith('520 records'));
  assert.deepEqual(gone.faults, []);
});

test('an answer that is no JSON is reported as it is', async () => {
  const { url } = await serve([LOG]);
  const page = await open(url);
  await page.route('**/query', (route) =>
    route.fulfill({ status: 502, contentType: 'text/html', body: '<h1>Bad gateway</h1>' }),
  );
  await page.fill('#condition', '$.a');
  await page.waitForSelector('#fault:not([hidden])');
  assert.equal(await page.textContent('.fault-message'), '<h1>Bad gateway</h1>');
  assert.equal(await page.locator('#fault h1').count(), 0);
});

test('the page asks for the token, once, and keeps it for the tab', async () => {
  const { url } = await serve([LOG], { token: 'open-sesame-please' });
  const page = await open(url, { settled: false });
  await page.waitForSelector('#dialog[open] #token');
  for (const wrong of ['wrong', '\u2603']) {
    await page.fill('#token', wrong);
    await page.press('#token', 'Enter');
    await page.waitForSelector('#dialog[open] >> text=does not accept');
    await page.waitForFunction(() => document.querySelector('#token').value === '');
  }
  await page.fill('#token', 'open-sesame-please');
  await page.click('#dialog .main');
  await page.waitForFunction(() => document.querySelector('#status').textContent.startsWith('500 records'));
  await idle(page);
  assert.ok(await page.isHidden('#dialog'));
  assert.ok(!page.url().includes('sesame'), 'the token is not in the link');
  await page.reload();
  await page.waitForFunction(() => document.querySelector('#status').textContent.startsWith('500 records'));
  assert.ok(await page.isHidden('#dialog'));
  const other = await open(url, { settled: false });
  await other.waitForSelector('#dialog[open] #token');
  assert.deepEqual(page.faults, []);
});

test('a server that goes away is noticed, and so is its return', async () => {
  const first = await serve([LOG]);
  const page = await open(first.url);
  await first.stop();
  await page.fill('#condition', '$.level == "error"');
  await page.waitForSelector('#offline:not([hidden])');
  assert.match(await page.textContent('#offline'), /does not answer/);
  assert.match(await page.textContent('#record-0'), /level/, 'the last rows stay');
  await serve([LOG], { port: first.port });
  await page.waitForSelector('#offline', { state: 'hidden' });
  await page.waitForFunction(() => / of 500 records/.test(document.querySelector('#status').textContent));
  await idle(page);
  assert.equal(
    await page.inputValue('#condition'),
    '$.level == "error"',
    'the question is still there, and answered',
  );
  assert.deepEqual(page.faults, []);
});

test('a page that is opened without its server finds it later', async () => {
  const first = await serve([LOG]);
  const page = await open(first.url);
  const answers = (address) => /^\/(?:schema|query|health)$/.test(address.pathname);
  await page.route(answers, (route) => route.abort('connectionrefused'));
  await page.reload();
  await page.waitForSelector('#offline:not([hidden])');
  await page.unroute(answers);
  await page.click('#offline button');
  await page.waitForSelector('.row-field');
  await page.waitForFunction(() => document.querySelector('#status').textContent.startsWith('500 records'));
});

test('SQL is cancelled by the next question, too', async () => {
  const { url } = await serve([LOG]);
  const page = await open(url);
  await page.route('**/sql', () => {});
  const sent = page.waitForEvent('request', (r) => r.url().endsWith('/sql'));
  const cancelled = page.waitForEvent('requestfailed', (r) => r.url().endsWith('/sql'));
  await page.fill('#condition', "SELECT count(*) FROM 'log.ndjson'");
  await page.press('#condition', 'Enter');
  assert.equal((await sent).postDataJSON().query, "SELECT count(*) FROM 'log.ndjson'");
  await ask(page, '$.level == "info"');
  assert.equal((await cancelled).failure().errorText, 'net::ERR_ABORTED');
});
