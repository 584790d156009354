// The page over a log: each thing that it shows, and each that a click or a key does.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { DATA, ask, field, file, folder, idle, open, request, serve, texts, valuesOf } from './harness.js';
import { log } from './data.js';

const RECORDS = log(3000);
const scratch = folder();
const { url } = await serve([file(join(scratch, 'log.ndjson'), RECORDS)]);

const group = (values) => {
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
};
const status = (page) => page.textContent('#status');

test('the schema has counts, types, shares, and the values of a field that is opened', async () => {
  const page = await open(url);
  assert.equal(await page.textContent('#fields-count'), '16');
  assert.equal(await field(page, '$.status').locator('.type').textContent(), 'int');
  assert.equal(await field(page, '$.status').locator('.share').textContent(), '100 %');
  const errors = RECORDS.filter((r) => r.error).length;
  assert.equal(
    await field(page, '$.error').locator('.share').textContent(),
    `${Math.round((errors / 3000) * 100)} %`,
  );
  assert.match(await field(page, '$.error').getAttribute('title'), new RegExp(`object: ${errors}\\n`));
  const expected = group(RECORDS.map((r) => r.level)).map(([value, n]) => [value, n.toLocaleString('en-US')]);
  assert.deepEqual(await valuesOf(page, '$.level'), expected);
  assert.deepEqual(page.faults, []);
});

test('a click on a value filters, a second one takes the filter away, shift-click excludes', async () => {
  const page = await open(url);
  await valuesOf(page, '$.level');
  await page.click('.row-value >> text=warn');
  await idle(page);
  const warnings = RECORDS.filter((r) => r.level === 'warn').length;
  assert.equal(await page.inputValue('#condition'), '$.level == "warn"');
  assert.match(await status(page), new RegExp(`^${warnings} of 3,000 records`));
  assert.deepEqual(
    await texts(page, '.row-value .value'),
    ['warn'],
    'values are counted under the condition',
  );
  assert.equal(await field(page, '$.error').locator('.share').textContent(), '0 %', 'so are fields');
  await page.click('.row-value >> text=warn');
  await idle(page);
  assert.equal(await page.inputValue('#condition'), '');
  await page.click('.row-value >> text=info', { modifiers: ['Shift'] });
  await idle(page);
  assert.equal(await page.inputValue('#condition'), '$.level != "info"');
  const others = RECORDS.filter((r) => r.level !== 'info').length;
  assert.match(await status(page), new RegExp(`^${others} of 3,000 records`));
  assert.deepEqual(page.faults, []);
});

test('a value in an array filters, too', async () => {
  const page = await open(url);
  await valuesOf(page, '$.tags[*]');
  await page.click('.row-value >> text=cache');
  await idle(page);
  assert.equal(await page.inputValue('#condition'), '$.tags[?@ == "cache"]');
  assert.match(
    await status(page),
    new RegExp(`^${RECORDS.filter((r) => r.tags?.includes('cache')).length} of `),
  );
});

test('the tree is walked and filtered by keys', async () => {
  const page = await open(url);
  await page.keyboard.press('f');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowRight');
  await page.locator('.row-value').first().waitFor();
  await page.keyboard.press('ArrowDown');
  const active = await page.getAttribute('#tree', 'aria-activedescendant');
  assert.match(await page.textContent(`#${active}`), /^info/);
  await page.keyboard.press('Shift+Enter');
  await idle(page);
  assert.equal(await page.inputValue('#condition'), '$.level != "info"');
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  assert.equal(await page.locator('.row-value').count(), 0);
  assert.equal(await field(page, '$.level').getAttribute('aria-expanded'), 'false');
});

test('a field is found by a part of its name', async () => {
  const page = await open(url);
  await page.fill('#find-field', 'lang');
  assert.deepEqual(await texts(page, '.row .field-name'), ['user', 'lang']);
  assert.match(await page.textContent('#fields-count'), /^1 of 16$/);
});

test('names, functions and values are completed by keys', async () => {
  const page = await open(url);
  await page.focus('#condition');
  await page.keyboard.type('$.lev');
  await page.waitForSelector('#completions li');
  assert.deepEqual(await texts(page, '#completions .completion-text'), ['$.level']);
  await page.keyboard.press('Tab');
  assert.equal(await page.inputValue('#condition'), '$.level');
  await page.keyboard.type(' == ');
  await page.waitForSelector('#completions .completion-value');
  const levels = group(RECORDS.map((r) => r.level)).map(([value]) => JSON.stringify(value));
  assert.deepEqual(await texts(page, '#completions .completion-text'), levels);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  assert.equal(await page.getAttribute('#condition', 'aria-activedescendant'), 'completion-1');
  await page.keyboard.press('Enter');
  assert.equal(await page.inputValue('#condition'), `$.level == ${levels[1]}`);
  await page.keyboard.type(' and starts');
  await page.waitForSelector('#completions .completion-function');
  await page.keyboard.press('Tab');
  assert.equal(await page.inputValue('#condition'), `$.level == ${levels[1]} and starts_with(, "")`);
  // The caret is where the path belongs, and paths are offered.
  await page.waitForSelector('#completions .completion-field');
  await page.keyboard.press('Escape');
  assert.ok(await page.isHidden('#completions'));
  assert.deepEqual(page.faults, []);
});

test('of very many values, those that begin like the text are offered', async () => {
  const page = await open(url);
  await page.focus('#condition');
  await page.keyboard.type('$.path == "/api/items/39');
  await page.waitForFunction(() =>
    [...document.querySelectorAll('.completion-text')].every(
      (e, _, all) => all.length > 3 && e.textContent.startsWith('"/api/items/39'),
    ),
  );
  const offered = await texts(page, '#completions .completion-text');
  const real = new Set(RECORDS.map((r) => JSON.stringify(r.path)));
  assert.ok(
    offered.every((text) => real.has(text) && text.startsWith('"/api/items/39')),
    offered.join(),
  );
});

test('the message of the server is under the text, with the caret at the fault', async () => {
  const page = await open(url);
  await ask(page, '$.level == "é" and $.status >> 5');
  await page.waitForSelector('#fault:not([hidden])');
  assert.match(await page.textContent('.fault-message'), /^expected a value after `>`, found `>`/);
  const [text, caret] = await page.$eval('.caret-cell', (cell) =>
    [cell.firstChild, cell.lastChild].map((part) => ({
      text: part.textContent,
      left: part.getBoundingClientRect().left,
      top: part.getBoundingClientRect().top,
    })),
  );
  assert.equal(text.text, '>');
  assert.equal(caret.text, '^');
  assert.ok(Math.abs(text.left - caret.left) < 1 && caret.top > text.top, 'the caret is under its character');
  assert.equal(await page.textContent('.t-fault'), '>', 'the fault is marked in the box');
  assert.equal(await page.getAttribute('#condition', 'aria-invalid'), 'true');
  assert.equal(await page.locator('.records.stale').count(), 1, 'the last results stay, and look old');
  await ask(page, '$.status >= 500');
  assert.ok(await page.isHidden('#fault'));
  assert.equal(await page.locator('.records.stale').count(), 0);
  assert.deepEqual(page.faults, []);
});

test('with a time range, the caret is still in the text of the box', async () => {
  const from = '2026-03-02T12:00:00Z';
  const page = await open(url, { fragment: `#from=${from}&to=2026-03-02T13:00:00Z` });
  await page.fill('#condition', '$.status == 200 or $.x >> 1');
  await page.waitForSelector('#fault:not([hidden])');
  assert.equal(await page.textContent('.t-fault'), '>');
  assert.equal(
    await page.evaluate(() => document.querySelector('.excerpt').firstChild.textContent),
    '$.status == 200 or $.x >',
  );
  // A parenthesis that would end the one around the text is a fault, and no other condition.
  await page.fill('#condition', '$.a) or ($.status');
  await page.waitForSelector('#fault:not([hidden]) >> text=/\\)/');
  assert.deepEqual(page.faults, []);
});

test('a name that no record has is noted, with the name that was meant', async () => {
  const page = await open(url);
  await ask(page, '$.levl == "info"');
  assert.match(await page.textContent('#notes'), /`\$\.levl`; did you mean `\$\.level`\?/);
  assert.match(await page.textContent('#records'), /No record matches/);
});

test('the histogram counts all records, and its buckets follow the range', async () => {
  const page = await open(url);
  const bars = await page.$$eval('.bar-time', (rects) =>
    rects.map((rect) => [Number(rect.dataset.from), Number(rect.dataset.count)]),
  );
  const length = 600_000;
  const expected = group(RECORDS.map((r) => Math.floor(Date.parse(r.time) / length) * length)).sort(
    (a, b) => a[0] - b[0],
  );
  assert.deepEqual(bars, expected);
  assert.match(await page.textContent('#bucket'), /^10m for each bar/);
  assert.equal(await page.inputValue('#time'), '$.time', 'the time is found');
});

test('dragging over the histogram restricts the time, and the whole range comes back', async () => {
  const page = await open(url);
  const chart = await page.locator('#chart').boundingBox();
  await page.mouse.move(chart.x + chart.width * 0.4, chart.y + 60);
  await page.mouse.down();
  await page.mouse.move(chart.x + chart.width * 0.5, chart.y + 60, { steps: 4 });
  assert.match(await page.textContent('.tip'), /records$/);
  await page.mouse.up();
  await page.waitForSelector('#unzoom:not([hidden])');
  await idle(page);
  const parameters = new URLSearchParams(new URL(page.url()).hash.slice(1));
  const [from, to] = [parameters.get('from'), parameters.get('to')].map(Date.parse);
  assert.equal(from % 600_000, 0);
  const inside = RECORDS.filter((r) => Date.parse(r.time) >= from && Date.parse(r.time) < to);
  assert.match(await status(page), new RegExp(`^${inside.length.toLocaleString('en-US')} of 3,000`));
  assert.match(await page.textContent('#bucket'), /^(?:1m|30s|2m)/, 'buckets are smaller');
  const counted = await page.$$eval('.bar-time', (rects) =>
    rects.reduce((sum, rect) => sum + Number(rect.dataset.count), 0),
  );
  assert.equal(counted, inside.length);
  assert.match(await page.getAttribute('#command', 'data-text'), /time\(\$\.time\) >= "2026-03-02T/);
  await page.click('#unzoom');
  await idle(page);
  assert.match(await status(page), /^3,000 records/);
  await page.goBack();
  await page.waitForSelector('#unzoom:not([hidden])');
  await idle(page);
  assert.match(
    await status(page),
    new RegExp(`^${inside.length.toLocaleString('en-US')} of 3,000`),
    'going back restores the range',
  );
});

test('keys restrict the time, too', async () => {
  const page = await open(url);
  await page.keyboard.press('h');
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('Shift+ArrowRight');
  await page.keyboard.press('Shift+ArrowRight');
  const said = await page.getAttribute('#chart', 'aria-valuetext');
  const inside = RECORDS.filter((r) => r.time >= '2026-03-02T08:10' && r.time < '2026-03-02T08:40');
  assert.match(said, new RegExp(`: ${inside.length} records$`));
  await page.keyboard.press('Enter');
  await page.waitForSelector('#unzoom:not([hidden])');
  await idle(page);
  assert.match(page.url(), /from=2026-03-02T08%3A10%3A00\.000Z&to=2026-03-02T08%3A40%3A00\.000Z/);
  assert.match(await status(page), new RegExp(`^${inside.length} of`));
  await page.keyboard.press('Backspace');
  await page.waitForSelector('#unzoom[hidden]', { state: 'attached' });
});

test('the time can be another field, or none', async () => {
  const page = await open(url);
  await page.selectOption('#time', '');
  await page.waitForSelector('.chart .empty:not([hidden])');
  assert.match(await page.textContent('.chart .empty'), /No time field is chosen/);
  assert.match(page.url(), /time=/);
});

test('records are pages of rows, of which few are elements', async () => {
  const page = await open(url);
  assert.equal(await page.getAttribute('#records', 'aria-rowcount'), '200');
  assert.ok((await page.locator('.record').count()) < 80);
  const next = page.waitForResponse((response) => request(response).body?.skip === 200);
  await page.$eval('#records', (element) => {
    element.scrollTop = element.scrollHeight;
  });
  await next;
  await page.waitForSelector('#records[aria-rowcount="400"]');
  assert.ok((await page.locator('.record').count()) < 80);
  await page.$eval('#records', (element) => {
    element.scrollTop = 205 * 25;
  });
  await page.waitForSelector('#record-210');
  assert.match(await page.textContent('#record-210 .cell-time'), new RegExp(RECORDS[210].time.slice(11, 23)));
});

test('newest first, oldest first, and by a column', async () => {
  const page = await open(url);
  await page.selectOption('#order', { label: 'newest first' });
  await page.waitForFunction(
    (text) => document.querySelector('#record-0')?.textContent.includes(text),
    RECORDS.at(-1).time.slice(11, 23),
  );
  await idle(page);
  await field(page, '$.ms').hover();
  await field(page, '$.ms').locator('[data-do=column]').click();
  await page.waitForSelector('.head-cell >> text=ms');
  await idle(page);
  const slowest = [...RECORDS].sort((a, b) => b.ms - a.ms);
  await page.click('.sorter >> text=ms');
  await page.waitForFunction(
    (text) => document.querySelector('#record-0')?.textContent.endsWith(text),
    String(slowest.at(-1).ms),
  );
  await page.click('.sorter >> text=ms');
  await page.waitForFunction(
    (text) => document.querySelector('#record-0')?.textContent.endsWith(text),
    String(slowest[0].ms),
  );
  assert.equal(await page.getAttribute('.head-cell:has-text("ms")', 'aria-sort'), 'descending');
  assert.match(page.url(), /col=%24\.ms&sort=%24\.ms%3Adesc/);
});

test('a record opens as a tree whose leaves filter', async () => {
  const page = await open(url);
  await page.click('.record >> nth=4');
  await page.waitForSelector('#panel .json');
  assert.equal((await texts(page, '#panel .twig')).filter((text) => text.startsWith('lang')).length, 1);
  await page.click('#panel .twig-line:has(.key:text-is("lang")) .filters');
  await idle(page);
  assert.equal(await page.inputValue('#condition'), `$.user.lang == ${JSON.stringify(RECORDS[4].user.lang)}`);
  await page.click('#panel .twig-line:has(.key:text-is("host")) .filters', { modifiers: ['Shift'] });
  await idle(page);
  assert.equal(
    await page.inputValue('#condition'),
    `$.user.lang == ${JSON.stringify(RECORDS[4].user.lang)} and $.host != ${JSON.stringify(RECORDS[4].host)}`,
  );
  await page.keyboard.press('r');
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.focus('#panel .json .twig');
  await page.keyboard.press('End');
  await page.keyboard.press('Escape');
  await page.waitForSelector('#panel', { state: 'hidden' });
  assert.equal(await page.evaluate(() => document.activeElement.id), 'records', 'the focus returns');
});

test('bars, statistics and a histogram of a field of numbers', async () => {
  const page = await open(url);
  await field(page, '$.ms').hover();
  await field(page, '$.ms').locator('[data-do=bars]').click();
  await page.waitForSelector('.bins');
  await page.waitForSelector('.bar-row');
  const facts = Object.fromEntries(
    await page.$$eval('.facts > div', (rows) =>
      rows.map((row) => [row.firstChild.textContent, row.lastChild.textContent]),
    ),
  );
  const sorted = RECORDS.map((r) => r.ms).sort((a, b) => a - b);
  assert.equal(facts.least, String(sorted[0]));
  assert.equal(facts.greatest, String(sorted.at(-1)));
  assert.equal(facts.median, String(sorted[1499]));
  const counts = await page.$$eval('.bin', (bins) =>
    bins.map((bin) => Number(bin.getAttribute('aria-label').split(': ')[1].replace(/[^\d]/g, ''))),
  );
  const sum = counts.reduce((a, b) => a + b, 0);
  assert.ok(Math.abs(sum - 3000) < 60, `bins have all numbers: ${sum}`);
  const [top] = group(RECORDS.map((r) => r.ms));
  assert.equal(await page.textContent('.bar-row >> nth=0 >> .value-count'), String(top[1]));
  const label = await page.getAttribute('.bin >> nth=3', 'aria-label');
  const [low, high] = /^([\d.]+) to ([\d.]+)/.exec(label).slice(1);
  await page.click('.bin >> nth=3');
  await idle(page);
  assert.equal(await page.inputValue('#condition'), `$.ms >= ${low} and $.ms < ${high}`);
  const inside = RECORDS.filter((r) => r.ms >= Number(low) && r.ms < Number(high)).length;
  assert.match(await status(page), new RegExp(`^${inside} of 3,000`));
  assert.match(page.url(), /field=%24\.ms/);
  assert.deepEqual(page.faults, []);
});

test('numbers of few values are counted exactly', async () => {
  const page = await open(url, { fragment: '#field=%24.status' });
  await page.waitForSelector('.bin');
  const labels = await page.$$eval('.bin', (bins) => bins.map((bin) => bin.getAttribute('aria-label')));
  const counts = labels.map((label) => Number(label.split(': ')[1].replace(',', '')));
  assert.equal(
    counts.reduce((a, b) => a + b, 0),
    3000,
  );
  assert.ok(labels.every((label) => !label.includes('about')));
});

test('SQL runs at Enter, and its rows are a table', async () => {
  const page = await open(url);
  await page.fill(
    '#condition',
    "SELECT level, count(*) AS n FROM 'log.ndjson' GROUP BY level ORDER BY n DESC",
  );
  assert.match(await status(page), /Enter runs the SQL/);
  await page.press('#condition', 'Enter');
  await page.waitForSelector('.head-cell >> text=level');
  await idle(page);
  const rows = await page.$$eval('.record', (found) =>
    found.map((row) => [...row.querySelectorAll('.cell')].map((cell) => cell.textContent)),
  );
  assert.deepEqual(
    rows,
    group(RECORDS.map((r) => r.level)).map(([value, n]) => [value, String(n)]),
  );
  assert.match(await page.getAttribute('#command', 'data-text'), /^warpath sql 'SELECT level/);
  await page.fill('#condition', "SELECT levl FROM 'log.ndjson'");
  await page.press('#condition', 'Enter');
  await page.waitForSelector('#fault:not([hidden])');
  assert.match(await page.textContent('#fault'), /levl/);
  assert.deepEqual(page.faults, []);
});

test('the command line is what the page shows', async () => {
  const page = await open(url);
  await field(page, '$.host').hover();
  await field(page, '$.host').locator('[data-do=column]').click();
  await ask(page, '$.status >= 500 and $.host == "web-1"');
  assert.equal(
    await page.getAttribute('#command', 'data-text'),
    `warpath select 'time=$.time' 'host=$.host' --where '$.status >= 500 and $.host == "web-1"' -- log.ndjson`,
  );
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.click('#copy');
  await page.waitForSelector('#copy >> text=Copied');
  assert.equal(
    await page.evaluate(() => navigator.clipboard.readText()),
    await page.getAttribute('#command', 'data-text'),
  );
});

test('exports are whole files of the records in view', async () => {
  const page = await open(url, {
    fragment: `#q=${encodeURIComponent('$.status >= 500')}&col=%24.host&col=%24.status`,
  });
  const bad = RECORDS.filter((r) => r.status >= 500);
  const download = async (name) => {
    const [file] = await Promise.all([page.waitForEvent('download'), page.click(`[data-format=${name}]`)]);
    assert.equal(file.suggestedFilename(), `warpath.${name}`);
    return readFileSync(await file.path());
  };
  const csv = (await download('csv')).toString().trim().split('\n');
  assert.equal(csv[0].trim(), 'time,host,status');
  assert.equal(csv.length, bad.length + 1);
  assert.equal(csv[1].trim(), `${bad[0].time},${bad[0].host},${bad[0].status}`);
  const ndjson = (await download('ndjson')).toString().trim().split('\n');
  assert.deepEqual(JSON.parse(ndjson[1]), { time: bad[1].time, host: bad[1].host, status: bad[1].status });
  assert.equal(ndjson.length, bad.length);
  const parquet = await download('parquet');
  assert.equal(parquet.subarray(0, 4).toString(), 'PAR1');
  assert.equal(parquet.subarray(-4).toString(), 'PAR1');
  assert.deepEqual(page.faults, []);
});

test('records without columns are exported whole', async () => {
  const page = await open(url, { fragment: `#q=${encodeURIComponent('$.status >= 500')}` });
  const bad = RECORDS.filter((r) => r.status >= 500);
  const [ndjson] = await Promise.all([page.waitForEvent('download'), page.click('[data-format=ndjson]')]);
  assert.deepEqual(
    readFileSync(await ndjson.path(), 'utf8')
      .trim()
      .split('\n')
      .map(JSON.parse),
    bad,
  );
  const [csv] = await Promise.all([page.waitForEvent('download'), page.click('[data-format=csv]')]);
  assert.match(
    readFileSync(await csv.path(), 'utf8'),
    /^time,level,host,method,path,status,ms,bytes,user\.id,user\.lang/,
  );
});

test('a link opens what was shared', async () => {
  const first = await open(url);
  await ask(first, '$.level == "error"');
  await field(first, '$.path').hover();
  await field(first, '$.path').locator('[data-do=column]').click();
  await idle(first);
  const link = first.url();
  const second = await open(url, { fragment: new URL(link).hash });
  assert.equal(await second.inputValue('#condition'), '$.level == "error"');
  assert.deepEqual(await texts(second, '.head-cell bdi'), ['time', 'path']);
  assert.equal(
    await status(second).then((s) => s.split(' ·')[0]),
    await status(first).then((s) => s.split(' ·')[0]),
  );
});

test('several inputs are together or one by one; malformed records are counted and listed', async () => {
  const both = await serve([join(DATA, 'people.ndjson'), join(DATA, 'bad.ndjson')]);
  const page = await open(both.url);
  const shown = Number(/^\d+/.exec(await page.textContent('#malformed'))[0]);
  assert.ok(shown > 40, 'bad.ndjson has many malformed lines');
  await page.click('#malformed');
  await page.waitForSelector('#dialog[open] .malformed');
  assert.match(await page.textContent('.malformed'), /bad\.ndjson:2:6: string is not closed/);
  await page.keyboard.press('Escape');
  assert.match(
    await page.getAttribute('#command', 'data-text'),
    /--on-error skip people\.ndjson bad\.ndjson$/,
  );
  await page.selectOption('#inputs', 'people.ndjson');
  await page.waitForFunction(() => document.querySelector('#status').textContent.startsWith('20 records'));
  await idle(page);
  assert.ok(await page.isHidden('#malformed'));
  assert.match(await page.getAttribute('#command', 'data-text'), /^warpath query '\$' people\.ndjson$/);
  assert.match(page.url(), /in=people\.ndjson/);
  assert.deepEqual(page.faults, []);
});
