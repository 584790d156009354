// Paths of the schema, and conditions made of a path and a value.
//
// The schema's paths have names, `[*]` for all elements of an array and `.*` for all members of a map. A
// condition on such a path is a filter, because a comparison takes one value: `$.tags[?@ == "x"]`.

import { parse } from './json.js';

const LONE = /\p{Surrogate}/u;
const SHORTHAND = /^[A-Za-z_\u0080-\u{10ffff}][A-Za-z0-9_\u0080-\u{10ffff}]*$/u;
const SEGMENT =
  /\.\*|\.([A-Za-z_\u0080-\u{10ffff}][A-Za-z0-9_\u0080-\u{10ffff}]*)|\[\*\]|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/uy;

/** The path of member `name` of the value at `path`. */
export function child(path, name) {
  if (SHORTHAND.test(name)) return `${path}.${name}`;
  const text = JSON.stringify(name)
    .slice(1, -1)
    .replace(/\\[^]|'/g, (c) => ({ '\\"': '"', "'": "\\'" })[c] ?? c);
  return `${path}['${text}']`;
}

/** The segments of a path: `{ name }`, or `{ all: true }` for `[*]` and `.*`; null for any other path. */
export function segments(path) {
  const found = [];
  SEGMENT.lastIndex = 1;
  while (SEGMENT.lastIndex < path.length) {
    const match = SEGMENT.exec(path);
    if (!match) return null;
    const [whole, name, index, single, double] = match;
    if (whole === '.*' || whole === '[*]') found.push({ all: true, text: whole });
    else if (index !== undefined) found.push({ index: Number(index), text: whole });
    else if (name !== undefined) found.push({ name, text: whole });
    else {
      const quoted = double ?? single.replace(/\\[^]|"/g, (c) => ({ "\\'": "'", '"': '\\"' })[c] ?? c);
      found.push({ name: parse(`"${quoted}"`).value, text: whole });
    }
  }
  return found;
}

/** The values at `path` of a parsed record, in the order of the record. */
export function values(record, path) {
  let found = [record];
  for (const segment of segments(path) ?? []) {
    found = found.flatMap((value) => {
      if (segment.all) {
        if (value.kind === 'array') return value.items;
        return value.kind === 'object' ? value.members.map((m) => m.value) : [];
      }
      if (segment.index !== undefined)
        return value.kind === 'array' ? value.items.slice(segment.index, segment.index + 1) : [];
      const inner = value.kind === 'object' && value.members.find((m) => m.name === segment.name);
      return inner ? [inner.value] : [];
    });
  }
  return found;
}

/** True if the path finds at most one value of a record. */
export function singular(path) {
  return !(segments(path) ?? [{ all: true }]).some((segment) => segment.all);
}

/** How a condition writes `value`, or null: of containers and of lone surrogates there are no literals. */
export function literal(value) {
  switch (value.kind) {
    case 'string':
      return LONE.test(value.value) ? null : JSON.stringify(value.value);
    case 'number':
    case 'boolean':
    case 'null':
      return value.text;
    default:
      return null;
  }
}

/** `make(p)`, where p is `path` or, if the path has wildcards, the inside of filters in their position. */
function condition(path, make) {
  const parts = segments(path);
  const first = parts.findIndex((segment) => segment.all);
  if (first < 0) return make(path);
  const before =
    path[0] +
    parts
      .slice(0, first)
      .map((segment) => segment.text)
      .join('');
  const after = parts
    .slice(first + 1)
    .map((segment) => segment.text)
    .join('');
  return `${before}[?${condition(`@${after}`, make)}]`;
}

/** The condition that a value of `path` equals the literal. */
export function equal(path, text) {
  return condition(path, (p) => `${p} == ${text}`);
}

/** The condition that no value of `path` equals the literal. */
export function unequal(path, text) {
  return singular(path) ? `${path} != ${text}` : `not ${equal(path, text)}`;
}

/** The condition that a record has no value at `path`. */
export function missing(path) {
  return singular(path) ? `${path} is missing` : `not ${path}`;
}

/** The condition that a record has a value at `path`. */
export function present(path) {
  return singular(path) ? `${path} is not missing` : path;
}

/** The condition that a number of `path` is at least `low` and below `high`, or at most `high` if `closed`. */
export function within(path, low, high, closed) {
  // Filters in paths have no `and`.
  const and = singular(path) ? 'and' : '&&';
  return condition(path, (p) => `${p} >= ${low} ${and} ${p} ${closed ? '<=' : '<'} ${high}`);
}
