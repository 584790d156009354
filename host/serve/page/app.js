// The page: one question at a time, and what shows its answers. Every change of the question cancels the
// requests of the one before.

import { el, icon, visible, count, counted, visibleText } from './dom.js';
import * as api from './api.js';
import * as states from './state.js';
import { Box } from './box.js';
import { SchemaTree } from './schema.js';
import { Histogram } from './histogram.js';
import { Records } from './records.js';
import { FieldPanel } from './field.js';
import { showRecord } from './record.js';
import { commandLine, question } from './command.js';
import { promptForToken, showShortcuts, showMalformed } from './dialogs.js';
import { isSql, toggle, join, balanced } from './language.js';
import { literal, equal, unequal, missing, present, within } from './paths.js';
import { bucketEnd, bucketFor, instant, shown, timeFields, written } from './time.js';
import { parse, member } from './json.js';

const $ = (id) => document.getElementById(id);
const MOST_ROWS_OF_SQL = 10_000;
const LISTED_MALFORMED = 200;
// The histogram of a live tail is drawn again at most this often, in milliseconds.
const LIVE_PAUSE = 2000;
const NEXT_TRY = 2000;

let state = states.read(location.hash);
let controller = new AbortController();
let schema = null;
let schemaKnown = Promise.resolve();
let times = [];
let live = null;
let sqlRun = null;

// Questions

/** The inputs of a request: none if all of them are meant. */
const inputs = () => state.inputs;

/** The path of the records' time: the chosen one, the likeliest one, or null. */
function timePath() {
  if (state.time === '') return null;
  return state.time ?? times[0]?.path ?? null;
}

/** The conditions beside that of the box. */
function rangeConditions() {
  const path = timePath();
  if (state.from === null || !path) return [];
  return [`time(${path}) >= "${written(state.from)}"`, `time(${path}) < "${written(state.to)}"`];
}

function condition() {
  return join(isSql(state.q) ? '' : state.q, rangeConditions());
}

/** The options that every request about records has. */
function about({ where = condition().where } = {}) {
  return { where, 'on-error': 'skip' };
}

/** The columns of the table: with the time first, as it is shown. */
function tableColumns() {
  const path = timePath();
  if (!state.columns.length) return [];
  return path && !state.columns.includes(path) ? [path, ...state.columns] : state.columns;
}

function presentQuestion() {
  return question({
    columns: tableColumns(),
    where: condition().where,
    sort: state.sort,
    skipBad: malformed > 0,
  });
}

const totalRecords = () => schema?.root?.count ?? 0;

/** Gives the most frequent values of a path to `each`, in groups of lines as they arrive. */
const countValues = (path, top, signal, each) =>
  api.lines('count-by', { arguments: [path, ...inputs()], top, format: 'ndjson', ...about() }, signal, each);

// Parts of the page

const box = new Box({
  changed: (text) => change({ q: text }, { quiet: true }),
  entered: (text) => change({ q: text }, { entered: true }),
  source: () => ({
    fields: tree.fields,
    tables: (schema?.inputs ?? []).map((input) => input.name),
    valuesOf: completeValues,
  }),
});

const tree = new SchemaTree({
  valuesOf: countValues,
  filter: (node, value, exclude) => filter(node.path, value, exclude),
  bars: (node) => change({ field: node.path }),
  column: (node) => toggleColumn(node.path),
  isColumn: (path) => state.columns.includes(path),
});

const histogram = new Histogram({
  restrict: (from, to) => change({ from, to }),
  widen: () => state.from !== null && change({ from: null, to: null }),
});

const records = new Records({
  fetch: fetchRecords,
  open: openRecord,
  close: closePanel,
  sorted: (path) =>
    change({ sort: state.sort === path ? `${path}:desc` : state.sort === `${path}:desc` ? '' : path }),
  failed: report,
});

const panel = $('panel');
const fieldPanel = new FieldPanel(panel, {
  counts: countValues,
  stats: async (path, quantiles, signal) =>
    (
      await api.all(
        'stats',
        {
          arguments: [path, ...inputs()],
          quantiles: `0.5,0.95,0.99,${quantiles}`,
          distinct: true,
          format: 'ndjson',
          ...about(),
        },
        signal,
      )
    ).lines,
  filter: (node, value, exclude) => filter(node.path, value, exclude),
  range: (node, low, high, closed) => restrict(within(node.path, low, high, closed)),
  column: (node) => toggleColumn(node.path),
  isColumn: (path) => state.columns.includes(path),
  close: closePanel,
});

// Changing the question

/**
 * Applies a change, writes it to the URL, and runs what depends on it. `quiet` changes replace the entry of the
 * history, so that going back does not go letter by letter.
 */
function change(part, { quiet = false, entered = false } = {}) {
  const before = state;
  state = { ...state, ...part };
  const url = states.write(state) || location.pathname + location.search;
  if (quiet || entered) history.replaceState(null, '', url);
  else history.pushState(null, '', url);
  if (entered) history.pushState(null, '', url);
  if ('q' in part && part.q !== box.text) box.set(part.q);
  const only = Object.keys(part).every((key) => key === 'field');
  if (only) {
    showField();
    return;
  }
  if ('inputs' in part && part.inputs.join('\n') !== before.inputs.join('\n')) loadSchema();
  run({ entered: entered || !quiet });
}

/** Adds a clause to the condition; a clause that is there is taken out. */
function restrict(clause, opposite) {
  const q = isSql(state.q) ? clause : toggle(state.q, clause, opposite);
  change({ q });
}

function filter(path, value, exclude) {
  if (!value) {
    restrict(exclude ? present(path) : missing(path), exclude ? missing(path) : present(path));
    return;
  }
  const text = literal(value);
  if (text === null) return;
  const [clause, opposite] = exclude
    ? [unequal(path, text), equal(path, text)]
    : [equal(path, text), unequal(path, text)];
  restrict(clause, opposite);
}

function toggleColumn(path) {
  const columns = state.columns.includes(path)
    ? state.columns.filter((p) => p !== path)
    : [...state.columns, path];
  change({ columns });
  tree.flatten();
  fieldPanel.drawHead();
}

// Running it

/** Runs the present question. */
function run({ entered = true } = {}) {
  controller.abort();
  controller = new AbortController();
  const { signal } = controller;
  failed = false;
  showControls();
  const sql = isSql(state.q);
  // SQL is run when it is complete, which only the key Enter says.
  if (sql && !entered && state.q !== sqlRun) {
    box.clearError();
    box.showNotes([]);
    records.fail();
    setStatus('Enter runs the SQL.');
    busy(false);
    return;
  }
  sqlRun = sql ? state.q : null;
  busy(true);
  if (!sql && !balanced(state.q)) {
    // A text that closes a parenthesis that it has not opened is shown to the server alone.
    explainFault(signal).finally(() => !signal.aborted && busy(false));
    return;
  }
  // Rows need no schema, unless the range is of a time that the schema chooses.
  const early = schema || state.from === null || state.time !== null;
  (early ? Promise.resolve() : schemaKnown)
    .then(() => runRecords(signal, sql))
    .finally(() => !signal.aborted && busy(false));
}

async function runRecords(signal, sql) {
  const start = performance.now();
  let first = null;
  firstRows = () => {
    first ??= performance.now() - start;
  };
  records.setColumns(
    state.columns.map((path) => ({ title: path.replace(/^\$\.?/, '') || '$', path })),
    timePath(),
    state.sort,
  );
  try {
    if (live && !sql) {
      await Promise.all([follow(signal), beside(signal)]);
      return;
    }
    const notes = await records.load(signal, sql);
    if (signal.aborted) return;
    box.clearError();
    box.showNotes(notes);
    matched = null;
    tookFirst = first;
    showStatus();
    // What is beside the rows comes after them, so that nothing delays the first rows.
    await Promise.all([sql || countMatches(signal), beside(signal)]);
  } catch (error) {
    await report(error, signal);
  }
}

async function beside(signal) {
  await schemaKnown;
  if (schema && !signal.aborted) await runBeside(signal);
}

let firstRows = () => {};
let tookFirst = null;
let matched = null;
// True if the question has no answer, and the server has said why.
let failed = false;
let malformed = 0;

function fetchRecords(skip, limit, signal, each) {
  const hear = (lines) => {
    firstRows();
    each(lines);
  };
  if (isSql(state.q)) return fetchSql(signal, hear);
  const sort = state.sort || null;
  return api.lines(
    'query',
    { arguments: ['$', ...inputs()], limit, skip: skip || null, sort, ...about() },
    signal,
    hear,
  );
}

/** The rows of SQL, up to a number that a list can hold. */
async function fetchSql(signal, each) {
  const enough = new AbortController();
  signal.addEventListener('abort', () => enough.abort());
  let rows = 0;
  try {
    return await api.lines('sql', { query: state.q, format: 'ndjson' }, enough.signal, (lines) => {
      const room = MOST_ROWS_OF_SQL - rows;
      rows += lines.length;
      each(lines.slice(0, room));
      if (rows >= MOST_ROWS_OF_SQL) enough.abort();
    });
  } catch (error) {
    if (error.name !== 'AbortError' || signal.aborted) throw error;
    return [
      {
        level: 'note',
        message: `The first ${count(MOST_ROWS_OF_SQL)} rows are shown; an export has all of them.`,
      },
    ];
  } finally {
    records.complete = true;
  }
}

/** Counts the records that match, and the malformed ones, which no condition chooses. */
async function countMatches(signal) {
  const { lines, notes } = await api.all(
    'query',
    { arguments: ['$', ...inputs()], count: true, stats: 'json', ...about() },
    signal,
  );
  await schemaKnown;
  if (signal.aborted) return;
  matched = Number(lines[0]);
  malformed = notes.find((note) => note.level === 'statistics')?.skipped ?? 0;
  showStatus();
  showCommand();
}

/** Everything beside the records: the histogram, the counts of fields, their values, the panel. */
async function runBeside(signal) {
  const { where } = condition();
  const parts = [drawHistogram(signal), tree.refresh(signal)];
  if (state.field) parts.push(showField(signal));
  if (where) parts.push(countFields(where, signal));
  else tree.setCounts(null);
  const results = await Promise.allSettled(parts);
  for (const { reason } of results) {
    // A fault of the condition is reported with the records.
    if (
      reason &&
      !(reason instanceof api.ServerError) &&
      !(reason instanceof api.Unreachable) &&
      reason.name !== 'AbortError'
    )
      throw reason;
  }
}

async function countFields(where, signal) {
  const under = await api.get('schema', { input: inputs(), where }, signal);
  if (signal.aborted) return;
  const counts = new Map();
  const walk = (node) => {
    counts.set(node.path, node.count);
    (node.children ?? []).forEach(walk);
  };
  if (under.root) walk(under.root);
  tree.setCounts(counts, under.root?.count ?? 0);
}

/** Counts records by buckets of time: `{ buckets: [{ from, count }], without }`. */
async function countOverTime(path, every, signal) {
  const question = { arguments: inputs(), every, time: path, format: 'ndjson', ...about() };
  const { lines } = await api.all('count-by', question, signal);
  const rows = lines
    .map(parse)
    .map((row) => ({ at: member(row, 'time'), count: Number(member(row, 'count').text) }));
  return {
    buckets: rows.filter(({ at }) => at).map(({ at, count: n }) => ({ from: instant(at.value), count: n })),
    without: rows.filter(({ at }) => !at).reduce((sum, { count: n }) => sum + n, 0),
  };
}

async function drawHistogram(signal) {
  const path = timePath();
  $('times').classList.toggle('without', !path);
  const say = (text) => {
    $('range').textContent = '';
    $('bucket').textContent = '';
    histogram.say(text);
  };
  if (!path) {
    say(times.length ? 'No time field is chosen.' : 'No field of these records has times.');
    return;
  }
  const node = tree.node(path);
  const whole = state.from === null;
  let from = whole ? instant(node?.least) : state.from;
  // The last instant is in the range, whose end is not.
  let to = whole ? instant(node?.greatest) + 1 : state.to;
  if (Number.isNaN(from) || Number.isNaN(to)) {
    say('The range of this time is not known.');
    return;
  }
  let every = bucketFor(from, to);
  let found = await countOverTime(path, every, signal);
  // Records that came after the schema was made may be far outside of its range.
  for (const bucket of found.buckets) {
    const end = bucketEnd(bucket.from, every);
    if (end <= from) from = bucket.from;
    if (bucket.from >= to) to = end;
  }
  if (bucketFor(from, to) !== every) {
    every = bucketFor(from, to);
    found = await countOverTime(path, every, signal);
  }
  if (signal.aborted) return;
  histogram.set(found.buckets, every, from, to);
  const { without } = found;
  const span = to - from;
  $('range').textContent = `${shown(from, span / 50)} to ${shown(to, span / 50)} UTC`;
  $('bucket').textContent = [
    `${every} for each bar`,
    without ? `${counted(without, 'record')} without a time` : '',
  ]
    .filter(Boolean)
    .join(', ');
}

/** Shows the field of the question in the panel, or closes its panel if there is none. */
async function showField(signal = controller.signal) {
  if (!state.field) {
    if (panel.dataset.kind === 'field') hidePanel();
    return;
  }
  const node = tree.node(state.field);
  if (!node) return;
  showPanel('field');
  try {
    await fieldPanel.show(node, signal);
  } catch (error) {
    if (error.name !== 'AbortError') fieldPanel.fail(error);
  }
}

// Errors

/** Reports an error of the question: where the text of the box is at fault, with the caret in that text. */
async function report(error, signal = controller.signal) {
  if (error.name === 'AbortError' || signal.aborted || error instanceof api.Unreachable) return;
  if (!(error instanceof api.ServerError)) throw error;
  if (condition().wrapped && error.status === 400) {
    await explainFault(signal, error);
    return;
  }
  showFault(error);
}

/** Sends the text of the box alone, because positions in a joined condition are not its own. */
async function explainFault(signal, otherwise = null) {
  try {
    await api.all('head', { arguments: inputs(), limit: 1, where: state.q, 'on-error': 'skip' }, signal);
    if (otherwise && !signal.aborted) showFault(otherwise);
  } catch (error) {
    if (error instanceof api.ServerError && !signal.aborted) showFault(error);
    else if (!(error instanceof api.Unreachable) && error.name !== 'AbortError') throw error;
  }
}

function showFault(error) {
  box.showError(error);
  box.showNotes(error.notes ?? []);
  records.fail();
  failed = true;
  setStatus('');
}

// What is around the results

function busy(yes) {
  document.querySelector('main').setAttribute('aria-busy', String(yes));
  document.body.classList.toggle('busy', yes);
}

function setStatus(text) {
  $('status').textContent = text;
}

function showStatus() {
  $('malformed').hidden = !malformed;
  $('malformed').textContent = counted(malformed, 'malformed record');
  if (live || failed) return;
  const parts = [];
  if (isSql(state.q)) parts.push(counted(records.rows.length, 'row'));
  else if (matched !== null) {
    const total = totalRecords();
    parts.push(
      condition().where && total
        ? `${count(matched)} of ${counted(total, 'record')}`
        : counted(matched, 'record'),
    );
  } else parts.push('counting …');
  if (tookFirst !== null)
    parts.push(`first rows in ${tookFirst < 10 ? tookFirst.toFixed(1) : Math.round(tookFirst)} ms`);
  setStatus(parts.join(' · '));
}

/** Shows the question in everything that is not its result. */
function showControls() {
  const path = timePath();
  $('unzoom').hidden = state.from === null;
  const order = $('order');
  const options = [['', 'as stored']];
  if (path) options.push([`${path}:desc`, 'newest first'], [path, 'oldest first']);
  if (state.sort && !options.some(([value]) => value === state.sort))
    options.push([
      state.sort,
      state.sort.endsWith(':desc') ? `${state.sort.slice(0, -5)} ↓` : `${state.sort} ↑`,
    ]);
  order.replaceChildren(
    ...options.map(([value, text]) =>
      el('option', { value, selected: value === state.sort }, visibleText(text)),
    ),
  );
  order.disabled = Boolean(live) || isSql(state.q);
  const select = $('time');
  const chosen = path ?? '';
  const paths = times.map((node) => node.path);
  if (path && !paths.includes(path)) paths.unshift(path);
  select.replaceChildren(
    ...paths.map((p) => el('option', { value: p, selected: p === chosen }, visibleText(p))),
    el('option', { value: '', selected: !chosen }, 'none'),
  );
  $('live').setAttribute('aria-pressed', String(Boolean(live)));
  $('live').disabled = isSql(state.q);
  showCommand();
  showStatusOfLive();
}

function showCommand() {
  const files = state.inputs.length ? state.inputs : (schema?.inputs ?? []).map((input) => input.name);
  const asked = isSql(state.q) ? { command: 'sql', arguments: [state.q], options: {} } : presentQuestion();
  const text = commandLine(asked, isSql(state.q) ? [] : files);
  $('command').replaceChildren(...visible(text));
  $('command').dataset.text = text;
  $('command').title = visibleText(text);
}

// The panel at the right

function showPanel(kind) {
  panel.hidden = false;
  panel.dataset.kind = kind;
  document.querySelector('main').classList.add('with-panel');
}

function hidePanel() {
  panel.hidden = true;
  delete panel.dataset.kind;
  panel.replaceChildren();
  fieldPanel.node = null;
  document.querySelector('main').classList.remove('with-panel');
}

function closePanel() {
  if (panel.hidden) return;
  const { kind } = panel.dataset;
  const inside = panel.contains(document.activeElement);
  hidePanel();
  if (state.field) change({ field: null });
  if (inside) (kind === 'record' ? records.element : tree.element).focus();
}

function openRecord(record, index) {
  if (state.field) {
    state = { ...state, field: null };
    history.replaceState(null, '', states.write(state) || location.pathname + location.search);
  }
  fieldPanel.node = null;
  showPanel('record');
  showRecord(panel, {
    record,
    title: isSql(state.q) ? `Row ${count(index + 1)}` : 'Record',
    filter,
    column: toggleColumn,
    close: closePanel,
    filterable: !isSql(state.q),
  });
}

// Live tail

async function follow(signal) {
  const asked = { ...about() };
  records.follow((waiting) => {
    showStatusOfLive(waiting);
    redrawSoon(signal);
  });
  box.clearError();
  box.showNotes([]);
  setStatus('');
  busy(false);
  const paused = live.paused;
  if (paused) records.pause(true);
  await api.lines('query', { arguments: ['$', ...inputs()], follow: 'end', ...asked }, signal, (lines) => {
    if (!signal.aborted) records.arrive(lines);
  });
  if (!signal.aborted) stopLive();
}

let redraw = null;

/** Draws the histogram again, some time after the first of several arrivals. */
function redrawSoon(signal) {
  redraw ??= setTimeout(() => {
    redraw = null;
    if (!signal.aborted) drawHistogram(signal).catch((error) => report(error, signal));
  }, LIVE_PAUSE);
}

function setLive(on) {
  live = on ? { paused: false } : null;
  if (!on) records.unfollow();
  run();
}

function stopLive() {
  live = null;
  records.unfollow();
  showControls();
}

function setPaused(paused) {
  if (!live) return;
  live.paused = paused;
  records.pause(paused);
}

function showStatusOfLive(waiting = records.live?.waiting.length ?? 0) {
  $('live-state').hidden = !live;
  $('pause').hidden = !live;
  if (!live) return;
  $('pause').textContent = live.paused ? 'Resume' : 'Pause';
  $('pause').setAttribute('aria-pressed', String(live.paused));
  // Until the tail begins, the rows are those of the question before.
  const rows = counted(records.live ? records.rows.length : 0, 'new record');
  $('live-state').textContent = live.paused ? `Paused, ${count(waiting)} waiting` : `Live, ${rows}`;
  $('live-state').classList.toggle('paused', live.paused);
}

// Completion of values

const completed = new Map();

async function completeValues(path, typed) {
  const from = /^[$@]/.test(path) ? `$${path.slice(1)}` : path;
  const node = tree.node(from);
  if (!node) return [];
  const key = `${from} ${inputs().join(' ')}`;
  const values = (lines) =>
    lines
      .map((line) => parse(line))
      .map((row) => ({ value: member(row, from), count: member(row, 'count').text }))
      .filter(({ value }) => value && literal(value) !== null)
      .map(({ value, count: n }) => ({ text: literal(value), detail: count(Number(n)) }));
  const load = async (where) =>
    values(
      (
        await api.all('count-by', {
          arguments: [from, ...inputs()],
          top: 50,
          format: 'ndjson',
          'on-error': 'skip',
          where,
        })
      ).lines,
    );
  if (!completed.has(key)) {
    const promise = load(null);
    completed.set(key, promise);
    promise.catch(() => completed.delete(key));
  }
  const frequent = await completed.get(key);
  const text = typed.replace(/\\+$/, '');
  if (frequent.length < 50 || !text || !node.types?.string || node.path.includes('*')) return frequent;
  // Of many values, those that begin like the text are not among the most frequent ones.
  return load(`istarts_with(${from}, ${JSON.stringify(text)})`);
}

// Exports

async function exportAs(format, button) {
  const ending = { csv: 'csv', ndjson: 'ndjson', parquet: 'parquet' }[format];
  button.disabled = true;
  try {
    let blob;
    if (isSql(state.q)) blob = await api.file('sql', { query: state.q, format });
    else {
      const asked = presentQuestion();
      let { command, arguments: positional, options } = asked;
      if (command === 'query' && format !== 'ndjson') {
        // Tables need columns: all members of the records.
        command = 'select';
        positional = [];
        options = { ...options, auto: true, sort: null };
      }
      const body = { arguments: [...positional, ...inputs()], ...options, 'on-error': 'skip' };
      if (command !== 'query') body.format = format;
      blob = await api.file(command, body);
    }
    const url = URL.createObjectURL(blob);
    const link = el('a', { href: url, download: `warpath.${ending}` });
    document.body.append(link);
    link.click();
    link.remove();
    // The download has begun with the click.
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  } catch (error) {
    await report(error);
  } finally {
    button.disabled = false;
  }
}

async function copyCommand() {
  const { text } = $('command').dataset;
  try {
    await navigator.clipboard.writeText(text);
    $('copy').classList.add('done');
    $('copy').replaceChildren(icon('copy'), 'Copied');
  } catch {
    // Pages without TLS may not write to the clipboard; the selection can be copied by hand.
    getSelection().selectAllChildren($('command'));
  }
}

// The server

/** Reads the schema of the chosen inputs. Questions that need it wait for `schemaKnown`. */
function loadSchema() {
  schemaKnown = readSchema();
  return schemaKnown;
}

async function readSchema() {
  try {
    schema = await api.get('schema', { input: state.inputs });
  } catch (error) {
    if (error instanceof api.Unreachable) return;
    if (!(error instanceof api.ServerError)) throw error;
    showFault(error);
    // A link may name an input that the server does not have: others can be chosen.
    if (state.inputs.length) await listInputs();
    return;
  }
  completed.clear();
  tree.set(schema.root);
  times = timeFields(tree.fields);
  records.setColumns(
    state.columns.map((path) => ({ title: path.replace(/^\$\.?/, '') || '$', path })),
    timePath(),
    state.sort,
  );
  showInputs();
  showControls();
  showStatus();
}

let everyInput = null;

/** Offers the inputs that the server has. */
async function listInputs() {
  try {
    everyInput = (await api.get('health', {})).inputs.map((input) => input.name);
    showInputs();
  } catch (error) {
    // The fault that is shown says more than this one.
    if (!(error instanceof api.ServerError || error instanceof api.Unreachable)) throw error;
  }
}

function showInputs() {
  // Only the answer about all inputs has all names.
  if (schema && (!state.inputs.length || !everyInput)) everyInput = schema.inputs.map((input) => input.name);
  for (const name of state.inputs) if (!everyInput.includes(name)) everyInput.push(name);
  const select = $('inputs');
  const all = everyInput.length === 1 ? everyInput[0] : `all ${everyInput.length} inputs`;
  const options = [el('option', { value: '' }, visibleText(all))];
  if (everyInput.length > 1)
    options.push(
      ...everyInput.map((name) =>
        el('option', { value: name, selected: state.inputs.includes(name) }, visibleText(name)),
      ),
    );
  select.replaceChildren(...options);
}

let trying = null;

function reach(ok) {
  const banner = $('offline');
  if (ok) {
    if (banner.hidden) return;
    banner.hidden = true;
    clearTimeout(trying);
    trying = null;
    return;
  }
  if (banner.hidden) {
    banner.replaceChildren(
      'The server does not answer. What is shown is its last answer. ',
      el('button', { type: 'button', className: 'link', click: tryAgain }, 'Try again'),
    );
    banner.hidden = false;
  }
  busy(false);
  trying ??= setTimeout(tryAgain, NEXT_TRY);
}

async function tryAgain() {
  clearTimeout(trying);
  trying = null;
  try {
    await api.get('health', {});
  } catch (error) {
    if (error instanceof api.Unreachable) return;
  }
  loadSchema();
  run();
}

// Theme

const THEMES = ['auto', 'light', 'dark'];

function setTheme(theme) {
  if (theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  localStorage.setItem('warpath-theme', theme);
  const name = { auto: 'Colours as the system', light: 'Light colours', dark: 'Dark colours' }[theme];
  $('theme').replaceChildren(icon({ auto: 'auto', light: 'sun', dark: 'moon' }[theme]));
  $('theme').setAttribute('aria-label', name);
  $('theme').title = `${name} (d)`;
}

function nextTheme() {
  setTheme(THEMES[(THEMES.indexOf(localStorage.getItem('warpath-theme') ?? 'auto') + 1) % THEMES.length]);
}

// Keys

const KEYS = {
  '/': () => box.focus(),
  f: () => tree.element.focus(),
  h: () => $('chart').focus(),
  r: () => {
    records.element.focus();
    if (records.active < 0) records.move(0);
  },
  t: () => !$('live').disabled && setLive(!live),
  p: () => setPaused(!live?.paused),
  c: copyCommand,
  d: nextTheme,
  '?': showShortcuts,
  Escape: closePanel,
};

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.target.matches('input, textarea, select')) return;
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

// The start

function wire() {
  $('live').append(icon('live'), 'Live');
  $('help').append(icon('help'));
  $('copy').append(icon('copy'), 'Copy');
  $('live').addEventListener('click', () => setLive(!live));
  $('pause').addEventListener('click', () => setPaused(!live.paused));
  $('theme').addEventListener('click', nextTheme);
  $('help').addEventListener('click', showShortcuts);
  $('copy').addEventListener('click', copyCommand);
  $('copy').addEventListener('blur', () => $('copy').replaceChildren(icon('copy'), 'Copy'));
  $('unzoom').addEventListener('click', () => change({ from: null, to: null }));
  $('time').addEventListener('change', (event) =>
    change({ time: event.target.value, from: null, to: null, sort: '' }),
  );
  $('order').addEventListener('change', (event) => change({ sort: event.target.value }));
  $('inputs').addEventListener('change', (event) =>
    change({
      inputs: event.target.value ? [event.target.value] : [],
      from: null,
      to: null,
      time: null,
      field: null,
    }),
  );
  for (const button of document.querySelectorAll('[data-format]'))
    button.addEventListener('click', () => exportAs(button.dataset.format, button));
  $('malformed').addEventListener('click', async () => {
    const found = [];
    try {
      await api.lines('validate', { arguments: inputs(), limit: LISTED_MALFORMED }, undefined, (lines) =>
        found.push(...lines),
      );
    } catch (error) {
      // The command fails because there are malformed records; those that it has listed are its result.
      if (!(error instanceof api.ServerError)) return;
    }
    showMalformed(found, malformed);
  });
  window.addEventListener('popstate', () => {
    const before = state;
    state = states.read(location.hash);
    box.set(state.q);
    if (!state.field && panel.dataset.kind === 'field') hidePanel();
    if (before.inputs.join('\n') !== state.inputs.join('\n')) loadSchema();
    run();
  });
}

function start() {
  setTheme(localStorage.getItem('warpath-theme') ?? 'auto');
  wire();
  api.connect({ token: (refused) => promptForToken(refused, api.keepToken, api.keptToken), reach });
  box.set(state.q);
  loadSchema();
  run();
}

start();
