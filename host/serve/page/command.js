// The command line that prints what the page shows, quoted for a shell.

import { segments } from './paths.js';

const SAFE = /^[A-Za-z0-9_/.:=@%+,-]+$/;

/** `word` as a POSIX shell reads it. */
export function quoted(word) {
  return SAFE.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** A name for a column of `path`, different from those in `taken`. */
export function columnName(path, taken) {
  const names = (segments(path) ?? [])
    .filter((segment) => segment.name !== undefined)
    .map((segment) => segment.name);
  const base = names.join('.') || 'record';
  let name = base;
  for (let i = 2; taken.includes(name); i += 1) name = `${base}_${i}`;
  return name;
}

/** The arguments of `select` for these paths: NAME=PATH. A name with `:` or `=` would be read otherwise. */
export function columnArguments(paths) {
  const names = [];
  return paths.map((path) => {
    const name = columnName(path, names).replace(/[:=]/g, '_');
    names.push(name);
    return `${name}=${path}`;
  });
}

/** A file as an argument: a name that begins with `-` or `$` would be read otherwise. */
function fileArgument(name) {
  return /^[-$]/.test(name) ? `./${name}` : name;
}

/**
 * The command that prints what the page shows, without its files: `{ command, arguments, options }`, where
 * options are those of the command line and of a request alike.
 */
export function question({ columns, where, sort, skipBad }) {
  const options = {};
  if (where) options.where = where;
  if (skipBad) options['on-error'] = 'skip';
  if (!columns.length) {
    if (sort) options.sort = sort;
    return { command: 'query', arguments: ['$'], options };
  }
  const paths = [...columns];
  if (sort) {
    // `select` sorts by the name of a column.
    const [, path, down = ''] = /^(.*?)(:desc)?$/.exec(sort);
    if (!paths.includes(path)) paths.push(path);
    const named = columnArguments(paths)[paths.indexOf(path)];
    options.sort = named.slice(0, named.indexOf('=')) + down;
  }
  return { command: 'select', arguments: columnArguments(paths), options };
}

/** The command line for a question about these files. */
export function commandLine({ command, arguments: positional, options }, files) {
  const words = ['warpath', command, ...positional];
  for (const [name, value] of Object.entries(options)) words.push(`--${name}`, String(value));
  // Columns end at `--`, and files follow.
  if (command === 'select') words.push('--');
  words.push(...files.map(fileArgument));
  return words.map(quoted).join(' ');
}
