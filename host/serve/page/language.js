// The text of the box: its tokens, its top-level tests, and the completions that fit at the caret. The server
// alone decides what is correct; this module only colours, completes and joins.

const TOKEN =
  /(?<space>\s+)|(?<string>"(?:[^"\\]|\\[^])*"?|'(?:[^'\\]|\\[^])*'?)|(?<path>[$@](?:\.\.?(?:[\p{L}_\u0080-\u{10ffff}][\p{L}\p{N}_\u0080-\u{10ffff}]*|\*)?|\['(?:[^'\\]|\\[^])*'?\]?|\["(?:[^"\\]|\\[^])*"?\]?|\[[-\d:*,\s]*\])*)|(?<number>-?\d[\d.eE+]*(?:ms|mo|[smhdwy])?\b|-?\d+)|(?<word>[\p{L}_][\p{L}\p{N}_]*)|(?<operator>==|!=|<=|>=|<>|&&|\|\||[=<>!])|(?<mark>[^])/gu;

const WORDS = new Set([
  'and',
  'or',
  'not',
  'in',
  'between',
  'like',
  'ilike',
  'is',
  'missing',
  'null',
  'true',
  'false',
]);

/** The functions of docs/predicates.md, as a completion inserts them: the caret goes to `|`. */
export const FUNCTIONS = [
  ['contains', 'contains(|, "")', 'the string has the text in it'],
  ['icontains', 'icontains(|, "")', 'the same, ignoring case'],
  ['starts_with', 'starts_with(|, "")', 'the string begins with the text'],
  ['istarts_with', 'istarts_with(|, "")', 'the same, ignoring case'],
  ['ends_with', 'ends_with(|, "")', 'the string ends with the text'],
  ['iends_with', 'iends_with(|, "")', 'the same, ignoring case'],
  ['like', 'like(|, "%")', '% is any text, _ one character'],
  ['ilike', 'ilike(|, "%")', 'the same, ignoring case'],
  ['match', 'match(|, "")', 'all of the string matches the pattern'],
  ['search', 'search(|, "")', 'a part of the string matches the pattern'],
  ['cidr', 'cidr(|, "10.0.0.0/8")', 'the address is in a block'],
  ['time', 'time(|) >= now() - 1h', 'the value as an instant'],
  ['now', 'now()', 'the instant of the question'],
  ['length', 'length(|)', 'of a string, array or object'],
  ['count', 'count(|)', 'how many values a path finds'],
  ['value', 'value(|)', 'the only value that a path finds'],
];

const KEYWORDS = [
  ['and', 'and '],
  ['or', 'or '],
  ['not', 'not '],
  ['in', 'in (|)'],
  ['between', 'between | and '],
  ['like', 'like "%|%"'],
  ['ilike', 'ilike "%|%"'],
  ['is missing', 'is missing '],
  ['is not missing', 'is not missing '],
  ['is null', 'is null '],
  ['is not null', 'is not null '],
  ['true', 'true'],
  ['false', 'false'],
  ['null', 'null'],
];

const SQL_KEYWORDS =
  'SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET DISTINCT AS AND OR NOT IN BETWEEN LIKE ILIKE IS NULL JOIN LEFT INNER ON USING UNION ALL CASE WHEN THEN ELSE END CAST WITH ASC DESC count sum avg min max approx_distinct date_bin date_trunc'.split(
    ' ',
  );

/** True if the text is SQL: if it begins with SELECT or WITH. */
export function isSql(text) {
  return /^\s*(?:select|with)\b/i.test(text);
}

/** The tokens of `text`: `{ kind, text, from, to }`, without gaps. */
export function tokens(text) {
  return [...text.matchAll(TOKEN)].map((match) => {
    let kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
    if (kind === 'word' && WORDS.has(match[0].toLowerCase())) kind = 'keyword';
    return { kind, text: match[0], from: match.index, to: match.index + match[0].length };
  });
}

/** The tokens of SQL, in the same form. */
export function sqlTokens(text) {
  const keywords = new Set(SQL_KEYWORDS.map((word) => word.toLowerCase()));
  const pattern =
    /(?<space>\s+)|(?<string>'(?:[^']|'')*'?)|(?<path>"(?:[^"]|"")*"?)|(?<number>\d[\d.]*)|(?<word>[\p{L}_$][\p{L}\p{N}_$]*)|(?<mark>[^])/gu;
  return [...text.matchAll(pattern)].map((match) => {
    let kind = Object.keys(match.groups).find((name) => match.groups[name] !== undefined);
    if (kind === 'word' && keywords.has(match[0].toLowerCase())) kind = 'keyword';
    return { kind, text: match[0], from: match.index, to: match.index + match[0].length };
  });
}

/**
 * The tests that `and` joins at the top of a condition, as texts; null if they cannot be told apart: with `or`
 * at the top, or parentheses that do not balance.
 */
export function conjuncts(text) {
  const parts = [];
  let depth = 0;
  let from = 0;
  let between = false;
  for (const token of tokens(text)) {
    const word = token.text.toLowerCase();
    if (token.text === '(' || token.text === '[') depth += 1;
    else if (token.text === ')' || token.text === ']') depth -= 1;
    if (depth < 0) return null;
    if (depth > 0) continue;
    if (token.kind === 'string' && !/^(["'])[^]*\1$/.test(token.text)) return null;
    if (word === 'or' || word === '||') return null;
    if (word === 'between') between = true;
    else if (word === 'and' && between) between = false;
    else if (word === 'and' || word === '&&') {
      parts.push(text.slice(from, token.from).trim());
      from = token.to;
    }
  }
  if (depth !== 0) return null;
  parts.push(text.slice(from).trim());
  return parts.filter(Boolean);
}

/** `text and clause`. A clause that is there is taken out, and its opposite is replaced. */
export function toggle(text, clause, opposite) {
  if (!text.trim()) return clause;
  const parts = conjuncts(text);
  if (!parts) return `(${text.trim()}) and ${clause}`;
  const at = parts.indexOf(clause);
  if (at >= 0) parts.splice(at, 1);
  else if (opposite && parts.includes(opposite)) parts[parts.indexOf(opposite)] = clause;
  else parts.push(clause);
  return parts.join(' and ');
}

/** Joins a condition of the box with others. `wrapped`: the text of the box is not where it was. */
export function join(text, others) {
  const own = text.trim();
  if (!own) return { where: others.join(' and ') || null, wrapped: false };
  if (!others.length) return { where: text, wrapped: false };
  const plain = conjuncts(text) !== null;
  return { where: [plain ? own : `(${own})`, ...others].join(' and '), wrapped: true };
}

/** True if parentheses balance, so that a text in parentheses cannot end before its own end. */
export function balanced(text) {
  let depth = 0;
  for (const token of tokens(text)) {
    if (token.kind !== 'mark') continue;
    if (token.text === '(') depth += 1;
    if (token.text === ')') depth -= 1;
    if (depth < 0) return false;
  }
  return depth === 0;
}

const COMPARISONS = new Set(['==', '!=', '<', '<=', '>', '>=', '=', '<>', 'like', 'ilike']);

/**
 * The position of the caret: `{ kind, from, to, text, path? }`, where `from` to `to` is the text to replace, and
 * `kind` is `path`, `value` (of `path`), `word`, or `none`.
 */
export function context(text, caret) {
  const all = tokens(text);
  const here = all.find((t) => t.kind !== 'space' && t.from < caret && caret <= t.to);
  const typed = here ? text.slice(here.from, caret) : '';
  const span = { from: here ? here.from : caret, to: here ? here.to : caret, text: typed };

  if (here?.kind === 'path') return { ...span, kind: 'path' };
  // The text of a string that is being typed has the caret inside, and its quote may be missing.
  const partial = !here || here.kind === 'string' || here.kind === 'word' || here.kind === 'number';
  const at = here && !partial ? caret : span.from;
  if (here && !partial) Object.assign(span, { from: caret, to: caret, text: '' });
  const left = all.filter((t) => t.kind !== 'space' && t.to <= at);
  const path = comparedPath(left);
  if (path && (!here || partial || COMPARISONS.has(here.text) || here.text === '(' || here.text === ',')) {
    return { ...span, kind: 'value', path };
  }
  if (here?.kind === 'string') return { ...span, kind: 'none' };
  if (here && (here.kind === 'word' || here.kind === 'keyword'))
    return { ...span, from: here.from, to: here.to, text: typed, kind: 'word' };
  if (here && partial) return { ...span, kind: 'none' };
  return { ...span, kind: 'word', after: left.at(-1) };
}

/** The path whose values fit after these tokens: after `path ==`, `path in (a,` or `contains(path,`. */
function comparedPath(left) {
  let i = left.length - 1;
  const last = left[i];
  if (!last) return null;
  if (COMPARISONS.has(last.text.toLowerCase())) {
    i -= 1;
    if (left[i]?.text.toLowerCase() === 'not') i -= 1;
    return left[i]?.kind === 'path' ? left[i].text : null;
  }
  if (last.text === ',' || last.text === '(') {
    while (i >= 0 && left[i].text !== '(') {
      if (left[i].kind === 'path' && left[i + 1]?.text === ',' && left[i - 1]?.text === '(')
        return left[i].text;
      i -= 1;
    }
    i -= 1;
    if (left[i]?.text.toLowerCase() !== 'in') return null;
    i -= 1;
    if (left[i]?.text.toLowerCase() === 'not') i -= 1;
    return left[i]?.kind === 'path' ? left[i].text : null;
  }
  return null;
}

/** How well `typed` fits `name`, greatest first; 0 if it does not. */
function fit(typed, name) {
  const a = typed.toLowerCase();
  const b = name.toLowerCase();
  if (!a) return 1;
  if (b.startsWith(a)) return 3;
  const at = b.indexOf(a);
  if (at < 0) return 0;
  return /[^\p{L}\p{N}]/u.test(b[at - 1]) ? 2 : 1;
}

function best(items, typed, name, limit) {
  return items
    .map((item, i) => ({ item, i, fit: fit(typed, name(item)) }))
    .filter((x) => x.fit)
    .sort((a, b) => b.fit - a.fit || a.i - b.i)
    .slice(0, limit)
    .map((x) => x.item);
}

const LIMIT = 50;

/**
 * Completions at the caret: `{ from, to, items: [{ text, insert, caret, detail, kind }] }`. `fields` are the
 * nodes of the schema. Values come from `valuesOf(path, typed)`, a promise of `[{ text, detail }]`.
 */
export async function complete(text, caret, { fields, tables, valuesOf }) {
  if (isSql(text)) return completeSql(text, caret, fields, tables);
  const where = context(text, caret);
  const span = { from: where.from, to: where.to };
  const ofField = (node) => ({
    text: node.path,
    insert: node.path,
    detail: Object.keys(node.types).join(' | '),
    kind: 'field',
  });
  if (where.kind === 'path') {
    const typed = where.text.startsWith('@') ? `$${where.text.slice(1)}` : where.text;
    const starting = fields.filter((n) => n.path.toLowerCase().startsWith(typed.toLowerCase()));
    const name = typed.slice(typed.lastIndexOf('.') + 1).replace(/^\$/, '');
    const having = name ? best(fields, name, (n) => n.path, LIMIT) : [];
    const found = [...new Set([...starting.slice(0, LIMIT), ...having])].slice(0, LIMIT);
    return { ...span, items: found.filter((n) => n.path !== where.text || found.length > 1).map(ofField) };
  }
  if (where.kind === 'value') {
    const typed = where.text.replace(/^["']/, '').replace(/["']$/, '');
    const values = await valuesOf(where.path, typed);
    const items = best(values, typed, (v) => v.text.replace(/^"/, ''), LIMIT).map((v) => ({
      text: v.text,
      insert: v.text,
      detail: v.detail,
      kind: 'value',
    }));
    return { ...span, items };
  }
  if (where.kind === 'word') {
    const typed = where.text;
    const words = [
      ...FUNCTIONS.map(([name, insert, detail]) => ({ text: name, insert, detail, kind: 'function' })),
      ...KEYWORDS.map(([name, insert]) => ({ text: name, insert, kind: 'keyword' })),
    ];
    const starting = words.filter((w) => w.text.startsWith(typed.toLowerCase()));
    const named = best(fields, typed, (n) => n.path.slice(2), LIMIT).map(ofField);
    // With nothing typed after a whole operand, only what joins it to the next one fits.
    if (
      !typed &&
      where.after &&
      where.after.text !== '(' &&
      !COMPARISONS.has(where.after.text) &&
      !['and', 'or', 'not', '&&', '||', '!'].includes(where.after.text.toLowerCase())
    ) {
      const operators =
        where.after.kind === 'path'
          ? ['==', '!=', '<', '<=', '>', '>='].map((o) => ({ text: o, insert: `${o} `, kind: 'keyword' }))
          : [];
      return {
        ...span,
        items: [
          ...operators,
          ...words.filter(
            (w) =>
              w.kind === 'keyword' &&
              (where.after.kind === 'path' ? w.text !== 'not' : ['and', 'or'].includes(w.text)),
          ),
        ],
      };
    }
    return {
      ...span,
      items: [...(typed ? starting : []), ...named, ...(typed ? [] : starting)].slice(0, LIMIT),
    };
  }
  return { ...span, items: [] };
}

function completeSql(text, caret, fields, tables) {
  const here = sqlTokens(text).find((t) => t.kind !== 'space' && t.from < caret && caret <= t.to);
  if (!here || !['word', 'keyword', 'path', 'string'].includes(here.kind))
    return { from: caret, to: caret, items: [] };
  const typed = text.slice(here.from, caret).replace(/^["']/, '');
  const quoted = (name) =>
    /^[a-z_][a-z0-9_]*$/.test(name) && !SQL_KEYWORDS.includes(name.toUpperCase())
      ? name
      : `"${name.replaceAll('"', '""')}"`;
  const files = tables.map((name) => ({
    text: name,
    insert: `'${name.replaceAll("'", "''")}'`,
    detail: 'table',
    kind: 'field',
  }));
  // A string may be the name of a file; whether it is a value, only the server knows.
  if (here.kind === 'string')
    return {
      from: here.from,
      to: here.to,
      items: best(files, typed.replace(/'$/, ''), (item) => item.text, LIMIT),
    };
  const items = [
    ...files,
    ...fields
      .filter((n) => n.depth === 1)
      .map((n) => ({
        text: n.name,
        insert: quoted(n.name),
        detail: Object.keys(n.types).join(' | '),
        kind: 'field',
      })),
    ...SQL_KEYWORDS.map((word) => ({ text: word, insert: `${word} `, kind: 'keyword' })),
  ];
  return {
    from: here.from,
    to: here.to,
    items: best(items, typed, (item) => item.text, LIMIT).filter((item) => item.text !== here.text),
  };
}
