// Files that the tests make: a log, hostile records, records with very many fields or values.

/** Numbers that look random and are the same in each run. */
export function generator(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const START = Date.UTC(2026, 2, 2, 8);

/** A log of `count` records over about 14 hours, in the order of time. */
export function log(count) {
  const random = generator(7);
  // More records at noon than in the evening, and never evenly.
  const times = Array.from({ length: count }, (_, i) => {
    const share = i / count;
    const noise = ((random(1000) - 500) / 60_000) * Math.min(1, 20 * share, 20 * (1 - share));
    const moved = share + 0.09 * Math.sin(2 * Math.PI * share) + noise;
    return START + Math.floor(moved * 14 * 3_600_000);
  }).sort((a, b) => a - b);
  const paths = ['/api/orders', '/api/users', '/login', '/static/app.css', '/health', '/search'];
  const records = [];
  for (let i = 0; i < count; i += 1) {
    const hour = (times[i] - START) / 3_600_000;
    // A few bad minutes after noon, so that there is something to find.
    const bad = hour > 5.2 && hour < 5.9 ? 45 : 4;
    const status = random(100) < bad ? 503 - 3 * random(2) : [200, 200, 200, 304, 404][random(5)];
    const slow = status >= 500 ? 900 : 20;
    const record = {
      time: new Date(times[i]).toISOString(),
      level: status >= 500 ? 'error' : status === 404 ? 'warn' : 'info',
      host: `web-${1 + random(6)}`,
      method: random(4) ? 'GET' : 'POST',
      path: random(3) ? paths[random(paths.length)] : `/api/items/${1 + random(400)}`,
      status,
      ms: Math.round((slow + slow * Math.exp(random(30_000) / 10_000)) * 10) / 10,
      bytes: 80 + random(90000),
      user: { id: 1 + random(5000), lang: ['en', 'en', 'nl', 'de', 'pt'][random(5)] },
    };
    if (random(3) === 0) record.tags = ['slow', 'eu', 'cache', 'retry'].filter(() => random(2));
    if (status >= 500)
      record.error = {
        code: `E${1 + random(9)}`,
        message: `upstream timed out after ${900 + random(8000)} ms`,
      };
    records.push(record);
  }
  return records;
}

export const SCRIPT = '<script>window.ran = true; alert(1)</script>';
export const IMAGE = '<img src=x onerror="window.ran = true; alert(2)">';

/** Lines that no page should believe: markup, numbers that no double holds, characters that hide or turn text. */
export function hostile() {
  return [
    JSON.stringify({ at: '2026-03-02T08:00:00Z', text: SCRIPT, [IMAGE]: IMAGE, kind: 'markup' }),
    JSON.stringify({
      at: '2026-03-02T08:00:01Z',
      text: '</textarea></title><svg onload=alert(3)>',
      [`a'b"c\\d`]: 'quotes',
      kind: 'quotes',
    }),
    '{"at":"2026-03-02T08:00:02Z","n":9007199254740993,"m":12345678901234567890123,"x":0.1000000000000000000001,"e":1e400,"kind":"numbers"}',
    '{"at":"2026-03-02T08:00:03Z","text":"a\\ud800b\\udc00","kind":"surrogates"}',
    '{"at":"2026-03-02T08:00:04Z","text":"\\u202egnp.exe\\u202c\\u2066x\\u2069","kind":"direction"}',
    '{"at":"2026-03-02T08:00:05Z","text":"tab\\there\\u0000\\u001b[31mred\\u0007 zero\\u200bwidth","kind":"controls"}',
    '{"at":"2026-03-02T08:00:06Z","text":"\u05e9\u05dc\u05d5\u05dd \u0639\u0631\u0628\u064a abc","kind":"right to left"}',
    '{"at":"2026-03-02T08:00:07Z","a":1,"a":2,"__proto__":{"polluted":true},"constructor":"c","kind":"names"}',
    '{"at":"2026-03-02T08:00:08Z","$notes":[{"level":"note","message":"from a record"}],"kind":"notes"}',
    '{"$error":{"message":"from a record"}}',
  ];
}

/** Records with 100 objects of 100 members each: 10,100 fields. */
export function* wide(records) {
  for (let k = 0; k < records; k += 1) {
    const record = {};
    for (let i = 0; i < 10_000; i += 1) {
      const part = `part_${String(Math.floor(i / 100)).padStart(2, '0')}`;
      record[part] ??= {};
      record[part][`field_${String(i).padStart(5, '0')}`] = i + k;
    }
    yield record;
  }
}

/** A record with 10,000 members, which the schema shows as a map. */
export function flat() {
  return Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`field_${i}`, i]));
}

/** Records of which each has a value of its own. */
export function* many(count) {
  for (let i = 0; i < count; i += 1) yield { id: `id-${String(i).padStart(6, '0')}`, n: i, group: i % 3 };
}
