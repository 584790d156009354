// The records: rows that are fetched a page at a time, drawn where they are in view, and the live tail.

import { el, data } from './dom.js';
import { VirtualList } from './virtual.js';
import { parse, write } from './json.js';
import { values, segments } from './paths.js';
import { instant } from './time.js';

const ROW = 25;
const PAGE = 200;
// The live tail keeps this many rows; older ones leave.
const MOST_LIVE = 5000;
const SUMMARY = 420;
// The space after a cell, in pixels.
const GAP = 18;

export class Records {
  /** `fetch(skip, limit, signal, each)` gives lines. `open(record, index)` shows one. `sorted(path)` sorts. */
  constructor({ fetch, open, close, sorted, failed }) {
    Object.assign(this, { fetch, openRecord: open, closeRecord: close, sorted, failed });
    this.element = document.getElementById('records');
    this.head = el('div', { className: 'head', role: 'row', hidden: true });
    this.element.append(this.head);
    this.list = new VirtualList(this.element, ROW, (i) => this.render(i), {
      onScroll: (end) => this.more(end),
    });
    this.note = el('p', { className: 'empty muted', hidden: true });
    this.element.append(this.note);
    this.rows = [];
    this.columns = [];
    this.active = -1;
    this.element.addEventListener('click', (event) => {
      const row = event.target.closest('.record');
      if (row) this.choose(Number(row.dataset.index), true);
    });
    this.element.addEventListener('keydown', (event) => this.key(event));
  }

  /** Sets the columns: `[{ title, path }]`, and the field of the time; without columns rows are summaries. */
  setColumns(columns, time, sort) {
    this.columns = columns;
    this.time = time;
    this.sort = sort;
    this.layout();
  }

  /** Empties the list for a new question. The rows of the last one stay until the first new ones are here. */
  begin() {
    this.stale = true;
    this.element.classList.add('stale');
    this.complete = false;
    this.loading = false;
    this.keys = null;
  }

  replaceIfStale() {
    if (!this.stale) return;
    this.stale = false;
    this.rows = [];
    this.active = -1;
    this.element.classList.remove('stale');
    this.element.scrollTop = 0;
    this.list.set(0);
  }

  /** Loads the first page. The promise gives the notes of the run. */
  async load(signal, keys = null) {
    this.begin();
    this.signal = signal;
    this.byKeys = keys;
    this.note.hidden = true;
    return this.page(0);
  }

  async page(skip) {
    const { signal } = this;
    this.loading = true;
    let arrived = 0;
    try {
      const notes = await this.fetch(skip, PAGE, signal, (lines) => {
        if (signal.aborted) return;
        this.replaceIfStale();
        arrived += lines.length;
        this.add(lines);
      });
      if (signal.aborted) return [];
      this.replaceIfStale();
      this.complete = arrived < PAGE;
      this.sayIfEmpty('No record matches.');
      this.show();
      return notes;
    } finally {
      if (this.signal === signal) this.loading = false;
    }
  }

  /** Fetches the next page when the last rows come into view. */
  more(end) {
    if (
      this.live ||
      this.loading ||
      this.complete ||
      this.stale ||
      !this.rows.length ||
      end < this.rows.length
    )
      return;
    this.page(this.rows.length).catch((error) => this.failed(error));
  }

  add(lines) {
    for (const line of lines) this.rows.push(record(line));
    this.layout(false);
    this.show(false);
  }

  show(anew = false) {
    this.list.set(this.rows.length, anew);
    this.element.setAttribute('aria-rowcount', this.rows.length);
  }

  sayIfEmpty(text) {
    this.note.textContent = text;
    this.note.hidden = this.rows.length > 0;
    this.head.hidden = !this.rows.length;
  }

  fail() {
    this.stale = true;
    this.element.classList.add('stale');
  }

  /** Chooses the widths of columns by the first rows. */
  layout(anew = true) {
    if (this.byKeys && this.rows.length && !this.keys) {
      const first = this.rows[0].value;
      this.keys = first.kind === 'object' ? first.members.map((m) => ({ title: m.name, name: m.name })) : [];
      anew = true;
    }
    const shown = this.shownColumns();
    if (anew || !this.widths || this.widths.rows < Math.min(30, this.rows.length)) {
      const sample = this.rows.slice(0, 50);
      const widths = shown.map((column, i) => {
        if (!column.path && !column.name) return 'minmax(0, 1fr)';
        let longest = column.title.length + 2;
        for (const row of sample) longest = Math.max(longest, cell(row, column).text.length);
        const most = i === shown.length - 1 ? 120 : 40;
        return `${Math.ceil(Math.min(most, Math.max(5, longest)) * this.advance()) + GAP}px`;
      });
      this.widths = { rows: this.rows.length };
      const last = shown.at(-1);
      if (last && (last.path || last.name)) widths[widths.length - 1] = `minmax(${widths.at(-1)}, 1fr)`;
      this.element.style.setProperty('--columns', widths.join(' '));
      this.drawHead(shown);
      this.list.clear();
      this.list.draw();
    }
  }

  /** The width of a character, in pixels: heads have another font than cells, and the same columns. */
  advance() {
    if (!this.width) {
      const probe = el('span', { className: 'probe' }, '0'.repeat(100));
      this.element.append(probe);
      this.width = probe.getBoundingClientRect().width / 100;
      probe.remove();
    }
    return this.width;
  }

  shownColumns() {
    if (this.byKeys) return this.keys ?? [];
    const found = [];
    if (this.time && !this.columns.some((c) => c.path === this.time))
      found.push({ title: this.time.slice(2), path: this.time, time: true });
    found.push(...this.columns);
    if (!this.columns.length) found.push({ title: 'record' });
    return found;
  }

  drawHead(shown) {
    this.head.replaceChildren(
      ...shown.map((column) => {
        const by = column.path && this.sort?.replace(/:desc$/, '') === column.path;
        const down = by && this.sort.endsWith(':desc');
        const properties = {
          role: 'columnheader',
          className: 'head-cell',
          'aria-sort': by ? (down ? 'descending' : 'ascending') : 'none',
        };
        const title = data('', column.title, 60);
        if (!column.path) return el('span', properties, title);
        return el(
          'span',
          properties,
          el(
            'button',
            {
              type: 'button',
              className: `sorter${by ? ' sorted' : ''}`,
              title: 'Sort by this field',
              click: () => this.sorted(column.path),
            },
            title,
            by ? (down ? ' ↓' : ' ↑') : '',
          ),
        );
      }),
    );
    this.head.hidden = !this.rows.length;
  }

  render(index) {
    const item = this.rows[index];
    const row = el('div', {
      className: 'record',
      role: 'row',
      id: `record-${index}`,
      'aria-rowindex': index + 1,
      'aria-selected': String(index === this.active),
    });
    row.dataset.index = index;
    if (index === this.active) row.classList.add('active');
    const level = levelOf(item.value);
    if (level) row.classList.add(`level-${level}`);
    for (const column of this.shownColumns()) {
      const box = el('span', { role: 'gridcell', className: 'cell' });
      if (column.path || column.name) {
        const { text, kind, whole } = cell(item, column);
        if (whole) box.title = whole;
        box.className = `cell${column.time ? ' cell-time' : ''}${kind === 'number' ? ' cell-number' : ''}`;
        if (kind) box.append(data(`j-${kind}`, text, 300));
        else box.append(el('span', { className: 'muted' }, '·'));
      } else box.append(...summary(item.value, this.time));
      row.append(box);
    }
    return row;
  }

  choose(index, open) {
    if (!this.rows.length) return;
    const before = this.active;
    this.active = Math.max(0, Math.min(this.rows.length - 1, index));
    for (const at of [before, this.active]) {
      const row = this.list.row(at);
      row?.classList.toggle('active', at === this.active);
      row?.setAttribute('aria-selected', String(at === this.active));
    }
    this.element.setAttribute('aria-activedescendant', `record-${this.active}`);
    if (open) this.openRecord(this.rows[this.active], this.active);
  }

  move(by) {
    this.choose(
      this.active < 0 ? 0 : this.active + by,
      document.getElementById('panel').dataset.kind === 'record',
    );
    this.list.reveal(this.active, this.head.offsetHeight);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('.sorter')) return;
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW) - 2);
    const moves = {
      ArrowDown: 1,
      ArrowUp: -1,
      j: 1,
      k: -1,
      PageDown: page,
      PageUp: -page,
      Home: -Infinity,
      End: Infinity,
    };
    if (event.key in moves) this.move(moves[event.key]);
    else if (event.key === 'Enter') this.choose(Math.max(0, this.active), true);
    else if (event.key === 'Escape') this.closeRecord();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // Live tail

  /** Shows what arrives, the newest first. `arrived(waiting)` hears how many rows a pause holds back. */
  follow(arrived) {
    this.live = { waiting: [], paused: false, arrived };
    this.begin();
    this.replaceIfStale();
    this.byKeys = null;
    this.complete = true;
    this.sayIfEmpty('Waiting for new records.');
    this.show(true);
  }

  arrive(lines) {
    const { live } = this;
    if (!live) return;
    live.waiting.push(...lines);
    if (live.waiting.length > MOST_LIVE) {
      live.dropped = (live.dropped ?? 0) + live.waiting.length - MOST_LIVE;
      live.waiting.splice(0, live.waiting.length - MOST_LIVE);
    }
    if (!live.paused) this.flush();
    live.arrived(live.waiting.length);
  }

  pause(paused) {
    this.live.paused = paused;
    if (!paused) this.flush();
    this.live.arrived(this.live.waiting.length);
  }

  flush() {
    const fresh = this.live.waiting.splice(0).map(record).reverse();
    if (!fresh.length) return;
    if (this.active >= 0) this.active += fresh.length;
    this.rows = [...fresh, ...this.rows].slice(0, MOST_LIVE);
    this.sayIfEmpty('');
    // Who reads further down keeps the rows under the eyes.
    if (this.element.scrollTop > 0) this.element.scrollTop += fresh.length * ROW;
    this.layout(false);
    this.show(true);
  }

  unfollow() {
    this.live = null;
  }
}

/** A line as a record; a line that is no JSON is shown as text. */
function record(line) {
  try {
    return { line, value: parse(line) };
  } catch {
    return { line, value: { kind: 'other', text: line } };
  }
}

/** The text of a cell and its kind; several values are an array's. */
function cell(row, column) {
  const found = column.path
    ? values(row.value, column.path)
    : row.value.members.filter((m) => m.name === column.name).map((m) => m.value);
  if (!found.length) return { text: '', kind: null };
  const value = found.length === 1 ? found[0] : { kind: 'array', items: found };
  if (column.time) {
    const ms = instant(value.kind === 'string' ? value.value : value.text);
    if (!Number.isNaN(ms))
      return {
        text: new Date(ms).toISOString().slice(0, 23).replace('T', ' '),
        kind: 'time',
        whole: write(value),
      };
    return { text: value.kind === 'string' ? value.value : write(value), kind: 'time' };
  }
  return { text: value.kind === 'string' ? value.value : write(value), kind: value.kind };
}

/** A record on one line: names and values, members of objects by their paths. */
function summary(value, time) {
  if (value.kind !== 'object')
    return [data(`j-${value.kind}`, value.kind === 'string' ? value.value : write(value), SUMMARY)];
  const skip = time
    ? segments(time)
        ?.map((s) => s.name)
        .join('.')
    : null;
  const nodes = [];
  let length = 0;
  const add = (object, prefix) => {
    for (const { name, value: inner } of object.members) {
      if (length > SUMMARY) return;
      const path = prefix + name;
      if (path === skip) continue;
      if (inner.kind === 'object' && inner.members.length) {
        add(inner, `${path}.`);
        continue;
      }
      const text = inner.kind === 'string' ? inner.value || '""' : write(inner);
      const limit = Math.max(40, SUMMARY - length);
      nodes.push(
        el('span', { className: 'pair' }, data('key', path, 80), data(`j-${inner.kind}`, text, limit)),
        ' ',
      );
      length += path.length + Math.min(text.length, limit) + 3;
    }
  };
  add(value, '');
  if (!nodes.length) nodes.push(el('span', { className: 'muted' }, '{}'));
  return nodes;
}

const LEVELS = {
  error: 'error',
  err: 'error',
  fatal: 'error',
  critical: 'error',
  panic: 'error',
  warn: 'warn',
  warning: 'warn',
};

/** The level of a record of a log, if it is one that deserves a look. */
function levelOf(value) {
  if (value.kind !== 'object') return null;
  const found = value.members.find(
    (m) => m.value.kind === 'string' && /^(?:level|severity|lvl|log_?level)$/i.test(m.name),
  );
  return found ? (LEVELS[found.value.value.toLowerCase()] ?? null) : null;
}
