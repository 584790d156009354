// The modules without a browser: exact JSON, paths, the language of conditions, time, command lines, links.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import test from 'node:test';
import { join } from 'node:path';
import { PAGE } from './harness.js';

const load = (name) => import(join(PAGE, name));
const { parse, write, plain, member } = await load('json.js');
const paths = await load('paths.js');
const language = await load('language.js');
const time = await load('time.js');
const command = await load('command.js');
const states = await load('state.js');

test('numbers, names and surrogates stay as they are written', () => {
  const text = '{"a": [1e400, 9007199254740993, -0.10, "\\ud800"], "a": {}, "": null, "__proto__": true}';
  assert.equal(write(parse(text)), text);
  assert.equal(member(parse('{"a":1,"a":2}'), 'a').text, '1');
  assert.deepEqual(
    { ...plain(parse('{"n":9007199254740993,"m":3,"x":1.50,"y":1.5}')) },
    { n: '9007199254740993', m: 3, x: '1.50', y: 1.5 },
  );
  assert.equal(Object.getPrototypeOf(plain(parse('{"__proto__":{"x":1}}'))), null);
  assert.equal(parse('"\\u00e9\\n\\"\\/\\ud83d\\ude00"').value, 'é\n"/😀');
  assert.equal(parse(' [ NaN ] ').items[0].kind, 'other');
  for (const wrong of ['', '{', '{"a"', '{"a":1', '[1,', '"a', '1 2', '{a:1}', '[1 2]', '{"a":}'])
    assert.throws(() => parse(wrong), SyntaxError, wrong);
});

test('names of all kinds become paths, and come back', () => {
  for (const name of [
    'a',
    'a b',
    "it's",
    'q"q',
    '\\',
    "\\'",
    '\\"',
    'é',
    'a.b',
    'x\n',
    '',
    '0',
    '$',
    '[*]',
    '*',
  ]) {
    const path = paths.child('$', name);
    assert.deepEqual(
      paths.segments(path).map((s) => s.name),
      [name],
      path,
    );
    const record = { kind: 'object', members: [{ name, value: parse('1') }] };
    assert.equal(paths.values(record, path)[0].text, '1');
  }
  assert.deepEqual(paths.values(parse('{"a":[{"b":1},{"b":[2,3]},4]}'), '$.a[*].b').map(write), [
    '1',
    '[2, 3]',
  ]);
  assert.deepEqual(paths.values(parse('{"a":{"x":1,"y":2}}'), '$.a.*').map(write), ['1', '2']);
  assert.equal(paths.segments('$..a'), null);
});

test('a value becomes a condition, inside filters where a path finds several values', () => {
  assert.equal(paths.equal('$.a', '"x"'), '$.a == "x"');
  assert.equal(paths.equal('$.a[*].b[*]', '1'), '$.a[?@.b[?@ == 1]]');
  assert.equal(paths.unequal('$.tags[*]', '"x"'), 'not $.tags[?@ == "x"]');
  assert.equal(paths.missing('$.a'), '$.a is missing');
  assert.equal(paths.within('$.n[*].m', '1', '2'), '$.n[?@.m >= 1 && @.m < 2]');
  assert.equal(paths.literal(parse('"a\\"b"')), '"a\\"b"');
  assert.equal(paths.literal(parse('12345678901234567890')), '12345678901234567890');
  assert.equal(paths.literal(parse('"\\ud800"')), null, 'no literal has a lone surrogate');
  assert.equal(paths.literal(parse('{}')), null);
});

test('clauses are added, replaced and taken out', () => {
  assert.equal(language.toggle('', '$.a == 1'), '$.a == 1');
  assert.equal(language.toggle('$.b > 2', '$.a == 1'), '$.b > 2 and $.a == 1');
  assert.equal(language.toggle('$.a == 1 and $.b > 2', '$.a == 1'), '$.b > 2');
  assert.equal(language.toggle('$.a == 1', '$.a != 1', '$.a == 1'), '$.a != 1');
  assert.equal(language.toggle('$.a == 1 or $.b', '$.c'), '($.a == 1 or $.b) and $.c');
  assert.equal(language.toggle('$.a between 1 and 5', '$.c'), '$.a between 1 and 5 and $.c');
  assert.equal(language.toggle('$.a between 1 and 5 and $.c', '$.a between 1 and 5'), '$.c');
  assert.equal(language.toggle('$.s == "x and y or z"', '$.c'), '$.s == "x and y or z" and $.c');
  assert.deepEqual(language.join('$.a or $.b', ['$.t']), { where: '($.a or $.b) and $.t', wrapped: true });
  assert.deepEqual(language.join('$.a', []), { where: '$.a', wrapped: false });
  assert.equal(language.join('  ', []).where, null);
  assert.ok(!language.balanced('$.a) or ($.b'));
  assert.ok(language.balanced('$.a == ")" and ($.b)'));
});

test('tokens have no gaps, whatever the text', () => {
  const texts = [
    '',
    '$.a',
    '$.a == "x',
    "$['it\\'s'][0]..b[?@.c > 1]",
    'time($.at) >= now() - 1h',
    '§ ~ "\\',
    "'",
    '$',
    '😀 == $.é',
    '$.a[',
    "$['a",
  ];
  for (const text of texts) {
    assert.equal(
      language
        .tokens(text)
        .map((t) => t.text)
        .join(''),
      text,
    );
    assert.equal(
      language
        .sqlTokens(text)
        .map((t) => t.text)
        .join(''),
      text,
    );
  }
});

test('SQL is what begins with SELECT or WITH', () => {
  for (const text of ['SELECT 1', ' with x as (select 1) select * from x', 'select'])
    assert.ok(language.isSql(text), text);
  for (const text of ['$.select', 'selected', '', '"select"']) assert.ok(!language.isSql(text), text);
});

const FIELDS = [
  { path: '$.user', name: 'user', depth: 1, types: { object: 1 } },
  { path: '$.user.lang', name: 'lang', depth: 2, types: { string: 1 } },
  { path: '$.status', name: 'status', depth: 1, types: { int64: 1 } },
];
const source = {
  fields: FIELDS,
  tables: ['logs.wp', "it's.ndjson"],
  valuesOf: async (path) => [
    { text: `"of ${path}"`, detail: '1' },
    { text: '"other"', detail: '1' },
  ],
};

/** The completions where `|` is. */
async function completions(marked) {
  const caret = marked.indexOf('|');
  const text = marked.replace('|', '');
  const { from, to, items } = await language.complete(text, caret, source);
  return { replaced: text.slice(from, to), texts: items.map((item) => item.text) };
}

test('completions are what fits at the caret', async () => {
  assert.deepEqual(
    (await completions('$.us|')).texts,
    ['$.user', '$.user.lang', '$.status'],
    'paths that begin so come first',
  );
  assert.deepEqual(
    (await completions('$.lan|')).texts,
    ['$.user.lang'],
    'a name is found without its parents',
  );
  assert.equal((await completions('$.status == 1 and $.us|er')).replaced, '$.user');
  assert.deepEqual((await completions('$.user.lang == |')).texts[0], '"of $.user.lang"');
  assert.equal((await completions('$.user.lang == "of|"')).replaced, '"of"');
  assert.deepEqual((await completions('$.user.lang == "of|"')).texts, ['"of $.user.lang"']);
  assert.deepEqual((await completions('$.user.lang in ("x", |')).texts[0], '"of $.user.lang"');
  assert.deepEqual((await completions('$.user.lang not in (|')).texts[0], '"of $.user.lang"');
  assert.deepEqual((await completions('contains($.user.lang, "o|")')).texts[0], '"of $.user.lang"');
  assert.ok((await completions('starts|')).texts.includes('starts_with'));
  assert.ok((await completions('sta|')).texts.includes('$.status'));
  assert.deepEqual((await completions('$.status == 1 an|')).texts.slice(0, 1), ['and']);
  assert.ok((await completions('$.status |')).texts.includes('is missing'));
  assert.deepEqual((await completions('SELECT * FROM lo|')).texts[0], 'logs.wp');
  assert.ok((await completions("SELECT st| FROM 'logs.wp'")).texts.includes('status'));
  assert.deepEqual((await completions("SELECT * FROM 'it|")).texts, ["it's.ndjson"]);
});

test('all functions of docs/predicates.md are completed', async () => {
  const { readFileSync } = await import('node:fs');
  const page = readFileSync(join(PAGE, '../../../docs/predicates.md'), 'utf8');
  const documented = new Set([...page.matchAll(/`([a-z_]+)\((?:…|\$\.|PATH|\))/g)].map((match) => match[1]));
  for (const name of ['match', 'search', 'now']) documented.add(name);
  documented.delete('year');
  const completed = new Set(language.FUNCTIONS.map(([name]) => name));
  assert.deepEqual(
    [...documented].filter((name) => !completed.has(name)),
    [],
  );
  assert.ok(documented.size >= 14, [...documented].join());
});

test('instants of all forms, and buckets for all ranges', () => {
  const noon = Date.UTC(2026, 2, 2, 12);
  for (const value of [
    '2026-03-02T12:00:00Z',
    '2026-03-02T13:00:00+01:00',
    '2026-03-02 13:00 +0100',
    '2026-03-02T12:00',
    '2026-03-02 12',
    noon,
    noon / 1000,
    `${noon}000`,
    `${noon}000000`,
  ]) {
    if (value === '2026-03-02 12') assert.ok(Number.isNaN(time.instant(value)));
    else assert.equal(time.instant(value), noon, value);
  }
  assert.equal(time.instant('2026-03-02'), Date.UTC(2026, 2, 2));
  assert.ok(Number.isNaN(time.instant('soon')));
  assert.equal(time.written(noon), '2026-03-02T12:00:00Z');
  assert.equal(time.written(noon + 5), '2026-03-02T12:00:00.005Z');
  let before = 0;
  for (let range = 1; range < 1e15; range *= 3) {
    const every = time.bucketFor(0, range);
    const length = time.bucketEnd(0, every);
    assert.ok(length >= before, every);
    before = length;
    assert.ok(range / length < 400 || every === '100y', `${range} ${every}`);
  }
  assert.equal(time.bucketEnd(Date.UTC(2026, 0, 1), '1mo'), Date.UTC(2026, 1, 1));
  assert.equal(time.bucketEnd(Date.UTC(2024, 0, 1), '1y'), Date.UTC(2025, 0, 1));
  for (const range of [50, 5e3, 5e5, 5e7, 5e9, 5e11]) {
    const found = time.ticks(noon, noon + range, 8);
    assert.ok(found.length >= 1 && found.length <= 10, `${range}: ${found.length}`);
  }
});

test('a shell reads the command line as the page means it', () => {
  const hard = [`$.a == "it's" and $.b > 1`, '$HOME `id` \\ "x"', 'a\nb', '*', '', '~', '!x'];
  for (const where of hard.filter(Boolean)) {
    const asked = command.question({
      columns: ['$.time', "$['a b']", '$.tags[*]'],
      where,
      sort: '$.ms:desc',
      skipBad: true,
    });
    const line = command.commandLine(asked, ['logs.wp', '-odd', "it's.ndjson"]);
    const words = execFileSync('sh', ['-c', `warpath() { printf '%s\\0' "$@"; }; ${line}`], {
      encoding: 'utf8',
    })
      .split('\0')
      .slice(0, -1);
    assert.deepEqual(words, [
      'select',
      'time=$.time',
      "a b=$['a b']",
      'tags=$.tags[*]',
      'ms=$.ms',
      '--where',
      where,
      '--on-error',
      'skip',
      '--sort',
      'ms:desc',
      '--',
      'logs.wp',
      './-odd',
      "it's.ndjson",
    ]);
  }
  const plainQuestion = command.question({ columns: [], where: null, sort: '', skipBad: false });
  assert.equal(command.commandLine(plainQuestion, ['logs.wp']), "warpath query '$' logs.wp");
});

test('a link has the whole question', () => {
  const state = {
    q: '$.a == "é&#" or $.b',
    inputs: ['a.wp', 'b c'],
    time: '$.t',
    from: 1772438400000,
    to: 1772438400005,
    columns: ['$.x', "$['y=z']"],
    sort: '$.t:desc',
    field: '$.a',
  };
  assert.deepEqual(states.read(states.write(state)), state);
  assert.equal(states.write(states.read('')), '');
  const broken = states.read('#from=x&to=y&unknown=1');
  assert.equal(broken.from, null);
});
