// JSON as it is written: numbers keep their text, so that none is rounded to a double, objects keep the order
// and the repetitions of their members, and strings keep lone surrogates.
//
// A value is one of
//   { kind: 'object', members: [{ name, value }] }    { kind: 'array', items: [value] }
//   { kind: 'string', value }                         { kind: 'number', text }
//   { kind: 'boolean', text }                         { kind: 'null', text }
//   { kind: 'other', text }: text that is no JSON, such as NaN, shown as it is

const ESCAPES = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' };
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const BLANK = /[ \t\r\n]*/y;
const BARE = /[^,:\]}\s"]*/y;
const PLAIN = /[^"\\]*/y;

/** The value that `text` writes. Throws a SyntaxError for text that ends early or goes on after its value. */
export function parse(text) {
  let at = 0;

  const blank = () => {
    BLANK.lastIndex = at;
    BLANK.test(text);
    at = BLANK.lastIndex;
  };
  const fail = (expected) => {
    throw new SyntaxError(`${expected} expected at ${at}`);
  };
  const string = () => {
    at += 1;
    let value = '';
    for (;;) {
      PLAIN.lastIndex = at;
      PLAIN.test(text);
      value += text.slice(at, PLAIN.lastIndex);
      at = PLAIN.lastIndex;
      if (at >= text.length) fail('`"`');
      if (text[at] === '"') {
        at += 1;
        return value;
      }
      const escape = text[at + 1];
      if (escape === 'u') {
        value += String.fromCharCode(parseInt(text.slice(at + 2, at + 6), 16));
        at += 6;
      } else {
        value += ESCAPES[escape] ?? escape;
        at += 2;
      }
    }
  };
  const value = () => {
    blank();
    switch (text[at]) {
      case '{': {
        const members = [];
        at += 1;
        blank();
        if (text[at] === '}') {
          at += 1;
          return { kind: 'object', members };
        }
        for (;;) {
          blank();
          if (text[at] !== '"') fail('a name');
          const name = string();
          blank();
          if (text[at] !== ':') fail('`:`');
          at += 1;
          members.push({ name, value: value() });
          blank();
          if (text[at] === ',') at += 1;
          else if (text[at] === '}') {
            at += 1;
            return { kind: 'object', members };
          } else fail('`,` or `}`');
        }
      }
      case '[': {
        const items = [];
        at += 1;
        blank();
        if (text[at] === ']') {
          at += 1;
          return { kind: 'array', items };
        }
        for (;;) {
          items.push(value());
          blank();
          if (text[at] === ',') at += 1;
          else if (text[at] === ']') {
            at += 1;
            return { kind: 'array', items };
          } else fail('`,` or `]`');
        }
      }
      case '"':
        return { kind: 'string', value: string() };
      default: {
        BARE.lastIndex = at;
        BARE.test(text);
        const bare = text.slice(at, BARE.lastIndex);
        if (!bare) fail('a value');
        at = BARE.lastIndex;
        if (bare === 'true' || bare === 'false') return { kind: 'boolean', text: bare };
        if (bare === 'null') return { kind: 'null', text: bare };
        return { kind: NUMBER.test(bare) ? 'number' : 'other', text: bare };
      }
    }
  };

  const root = value();
  blank();
  if (at < text.length) fail('the end');
  return root;
}

/** The text of `value` on one line, in the form that `parse` reads. */
export function write(value) {
  switch (value.kind) {
    case 'object':
      return `{${value.members.map((m) => `${JSON.stringify(m.name)}: ${write(m.value)}`).join(', ')}}`;
    case 'array':
      return `[${value.items.map(write).join(', ')}]`;
    case 'string':
      return JSON.stringify(value.value);
    default:
      return value.text;
  }
}

/** The first member of `object` with this name, as JSONPath chooses it; or undefined. */
export function member(object, name) {
  return object?.kind === 'object' ? object.members.find((m) => m.name === name)?.value : undefined;
}

/** JavaScript's form of `value`. A number that a double would change becomes a string: its text. */
export function plain(value) {
  switch (value.kind) {
    case 'object': {
      const object = Object.create(null);
      for (const { name, value: inner } of value.members) object[name] = plain(inner);
      return object;
    }
    case 'array':
      return value.items.map(plain);
    case 'string':
      return value.value;
    case 'number': {
      const number = Number(value.text);
      const exact = Number.isInteger(number) ? Number.isSafeInteger(number) : String(number) === value.text;
      return exact ? number : value.text;
    }
    case 'boolean':
      return value.text === 'true';
    case 'null':
      return null;
    default:
      return value.text;
  }
}
