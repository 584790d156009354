// Instants, as the server reads them, in milliseconds since 1970; and buckets of time.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Lengths of buckets, as `--every` takes them, with their milliseconds; months and years are about this long. */
const LENGTHS = [
  ['1ms', 1],
  ['5ms', 5],
  ['10ms', 10],
  ['50ms', 50],
  ['100ms', 100],
  ['500ms', 500],
  ['1s', SECOND],
  ['2s', 2 * SECOND],
  ['5s', 5 * SECOND],
  ['10s', 10 * SECOND],
  ['30s', 30 * SECOND],
  ['1m', MINUTE],
  ['2m', 2 * MINUTE],
  ['5m', 5 * MINUTE],
  ['10m', 10 * MINUTE],
  ['15m', 15 * MINUTE],
  ['30m', 30 * MINUTE],
  ['1h', HOUR],
  ['2h', 2 * HOUR],
  ['3h', 3 * HOUR],
  ['6h', 6 * HOUR],
  ['12h', 12 * HOUR],
  ['1d', DAY],
  ['1w', 7 * DAY],
  ['1mo', 30 * DAY],
  ['3mo', 91 * DAY],
  ['1y', 365 * DAY],
  ['10y', 3652 * DAY],
  ['100y', 36524 * DAY],
];
const MOST_BUCKETS = 150;

/** The shortest bucket of which at most `MOST_BUCKETS` cover the range. */
export function bucketFor(from, to) {
  return (LENGTHS.find(([, length]) => (to - from) / length <= MOST_BUCKETS) ?? LENGTHS.at(-1))[0];
}

/** `at`, moved by `times` lengths of buckets. */
function moved(at, every, times) {
  const [, number, unit] = /^(\d+)(\D+)$/.exec(every);
  const date = new Date(at);
  if (unit === 'mo') return date.setUTCMonth(date.getUTCMonth() + times * Number(number));
  if (unit === 'y') return date.setUTCFullYear(date.getUTCFullYear() + times * Number(number));
  return at + times * LENGTHS.find(([name]) => name === every)[1];
}

/** The end of the bucket of this length that begins at `from`. */
export function bucketEnd(from, every) {
  return moved(from, every, 1);
}

/** The begin of the bucket before the one that begins at `from`. */
export function bucketBefore(from, every) {
  return moved(from, every, -1);
}

/** The instant of a value: a string of RFC 3339 or a date, or a number whose size is its unit. NaN if none. */
export function instant(value) {
  const text = String(value);
  if (/^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text)) {
    const number = Number(text);
    const size = Math.abs(number);
    if (size < 1e11) return number * 1000;
    if (size < 1e14) return number;
    if (size < 1e17) return number / 1e3;
    return number / 1e6;
  }
  const parts =
    /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(:\d\d(?:\.\d+)?)?\s*([Zz]|[+-]\d\d(?::?\d\d)?)?)?$/.exec(text);
  if (!parts) return NaN;
  const [, date, minutes = '00:00', seconds = ':00', zone = 'Z'] = parts;
  const offset =
    zone.toUpperCase() === 'Z' ? 'Z' : `${zone.slice(0, 3)}:${zone.slice(3).replace(':', '') || '00'}`;
  return Date.parse(`${date}T${minutes}${seconds}${offset}`);
}

/** An instant as conditions write it: RFC 3339 in UTC, without a fraction of zero. */
export function written(ms) {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}

/** An instant to read, as precise as the range of the view needs. */
export function shown(ms, span) {
  const text = new Date(ms).toISOString();
  const date = text.slice(0, 10);
  if (span >= 60 * DAY) return date;
  if (span >= MINUTE * 5) return `${date} ${text.slice(11, 16)}`;
  if (span >= SECOND * 5) return `${date} ${text.slice(11, 19)}`;
  return `${date} ${text.slice(11, 23)}`;
}

const STEPS = [...LENGTHS.map(([, length]) => length)];

/** Positions and labels for an axis from `from` to `to` with about `wanted` ticks. */
export function ticks(from, to, wanted) {
  const span = to - from;
  const step = STEPS.find((length) => span / length <= wanted) ?? STEPS.at(-1);
  const found = [];
  if (step >= 28 * DAY) {
    const months = Math.max(1, Math.round(step / (30.4 * DAY)));
    const date = new Date(from);
    let month = date.getUTCFullYear() * 12 + date.getUTCMonth();
    month = Math.ceil(month / months) * months;
    for (
      let ms = Date.UTC(Math.floor(month / 12), month % 12);
      ms <= to;
      month += months, ms = Date.UTC(Math.floor(month / 12), month % 12)
    ) {
      if (ms >= from) found.push({ ms, label: new Date(ms).toISOString().slice(0, months >= 12 ? 4 : 7) });
    }
    return found;
  }
  for (let ms = Math.ceil(from / step) * step; ms <= to; ms += step) {
    const text = new Date(ms).toISOString();
    let label;
    if (step >= DAY) label = text.slice(5, 10);
    else if (step >= MINUTE) label = text.slice(11, 16) === '00:00' ? text.slice(5, 10) : text.slice(11, 16);
    else if (step >= SECOND) label = text.slice(11, 19);
    else label = text.slice(14, 23);
    found.push({ ms, label });
  }
  return found;
}

const NAMES = ['time', 'timestamp', '@timestamp', 'ts', 'datetime', 'date', 'at', 'created_at'];

/** The fields with times, the likeliest time of a record first: in most records, usually named, least deep. */
export function timeFields(fields) {
  const rank = (node) => {
    const at = NAMES.indexOf(node.name.toLowerCase());
    return at < 0 ? NAMES.length : at;
  };
  return fields
    .filter((node) => node.time && !node.path.includes('*'))
    .sort((a, b) => b.share - a.share || a.depth - b.depth || rank(a) - rank(b));
}
