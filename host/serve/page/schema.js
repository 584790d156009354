// The tree of fields: types, shares, and the most frequent values of each field that is open.

import { el, icon, data, count, percent, visibleText } from './dom.js';
import { VirtualList } from './virtual.js';
import { parse, member, write } from './json.js';
import { literal, segments } from './paths.js';

const ROW = 24;
const TOP = 8;
const SHORT = {
  string: 'str',
  int64: 'int',
  uint64: 'int',
  float64: 'num',
  decimal: 'num',
  object: 'obj',
  array: 'arr',
  boolean: 'bool',
};

export class SchemaTree {
  /**
   * `valuesOf(path, top, signal, each)` counts values. `filter(node, value, exclude)`, `bars(node)` and
   * `column(node)` are what a person wants done.
   */
  constructor({ valuesOf, filter, bars, column, isColumn }) {
    Object.assign(this, { valuesOf, filter, bars, column, isColumn });
    this.element = document.getElementById('tree');
    this.search = document.getElementById('find-field');
    this.total = document.getElementById('fields-count');
    this.list = new VirtualList(this.element, ROW, (i) => this.render(i));
    this.fields = [];
    this.items = [];
    this.open = new Set();
    this.loaded = new Map();
    this.counts = null;
    this.active = 0;
    this.search.addEventListener('input', () => this.flatten());
    this.search.addEventListener('keydown', (event) => {
      if (event.key === 'ArrowDown' || event.key === 'Enter') {
        event.preventDefault();
        this.element.focus();
      }
      if (event.key === 'Escape') {
        this.search.value = '';
        this.flatten();
        this.search.blur();
      }
      event.stopPropagation();
    });
    this.element.addEventListener('keydown', (event) => this.key(event));
    this.element.addEventListener('click', (event) => this.click(event));
    this.element.addEventListener('focus', () => this.mark());
  }

  /** Shows the schema whose root is `root`. Fields that were open stay open. */
  set(root) {
    this.root = root;
    this.fields = [];
    const walk = (node, parent) => {
      for (const inner of node.children ?? []) {
        inner.depth = node.depth + 1;
        const last = segments(inner.path)?.at(-1);
        inner.name = last?.name ?? last?.text ?? inner.name;
        inner.parent = parent;
        // An array's elements are more or fewer than its records, so only members have a share of all.
        inner.share = node.depth === 0 ? inner.present : inner.count / Math.max(1, this.root.count);
        this.fields.push(inner);
        walk(inner, inner);
      }
    };
    if (root) {
      root.depth = 0;
      walk(root, null);
    }
    if (!this.known && this.fields.length <= 40) {
      for (const node of this.fields) if (node.children?.length) this.open.add(node.path);
    }
    this.known = true;
    this.counts = null;
    this.flatten();
  }

  /** The node of a path, or undefined. */
  node(path) {
    return this.fields.find((node) => node.path === path);
  }

  /** Counts of fields under the present condition, by path; null for those of all records. */
  setCounts(counts, records) {
    this.counts = counts;
    this.records = records;
    this.list.set(this.items.length);
  }

  /** Counts the values of open fields anew. */
  async refresh(signal) {
    this.signal = signal;
    // Closed fields are counted when they are opened; open ones keep their values until the new ones are here.
    for (const path of this.loaded.keys()) if (!this.open.has(path)) this.loaded.delete(path);
    const open = this.fields.filter((node) => this.open.has(node.path) && hasValues(node));
    await Promise.all(open.map((node) => this.load(node)));
  }

  async load(node) {
    const { signal } = this;
    try {
      // One more shows that there are more, and another may be the records without a value.
      const lines = [];
      await this.valuesOf(node.path, TOP + 2, signal, (group) => lines.push(...group));
      if (signal?.aborted) return;
      const values = lines
        .map((line) => parse(line))
        .map((row) => ({ count: Number(member(row, 'count').text), value: member(row, node.path) }))
        .filter(({ value }) => value);
      this.loaded.set(node.path, { values: values.slice(0, TOP), more: values.length > TOP });
    } catch (error) {
      if (error.name === 'AbortError') return;
      // The fault of a condition is reported below it.
      if (this.loaded.has(node.path)) return;
      this.loaded.set(node.path, { error: error.message });
    }
    this.flatten();
  }

  /** Makes the list of rows: fields, and below open ones their values and children. */
  flatten() {
    const wanted = this.search.value.trim().toLowerCase();
    let matching = null;
    let found = 0;
    if (wanted) {
      matching = new Set();
      for (const node of this.fields) {
        if (!node.path.toLowerCase().includes(wanted)) continue;
        found += 1;
        for (let n = node; n; n = n.parent) matching.add(n);
      }
    }
    const items = [];
    const add = (nodes) => {
      const shown = matching ? nodes.filter((node) => matching.has(node)) : nodes;
      shown.forEach((node, i) => {
        const searched = matching && node.children?.some((inner) => matching.has(inner));
        const open = this.open.has(node.path) || Boolean(searched);
        items.push({ kind: 'field', node, open, of: shown.length, at: i + 1 });
        if (!open) return;
        if (this.open.has(node.path) && hasValues(node)) this.addValues(items, node);
        add(node.children ?? []);
      });
    };
    add(this.root?.children ?? []);
    const path = this.items[this.active]?.key;
    this.items = items;
    for (const item of items)
      item.key = item.kind === 'field' ? item.node.path : `${item.node.path} ${item.at}`;
    const at = items.findIndex((item) => item.key === path);
    this.active = Math.max(0, at >= 0 ? at : Math.min(this.active, items.length - 1));
    this.total.textContent = wanted
      ? `${count(found)} of ${count(this.fields.length)}`
      : count(this.fields.length);
    this.total.title = wanted ? 'fields found' : 'fields';
    this.list.set(items.length);
    this.mark();
  }

  addValues(items, node) {
    const loaded = this.loaded.get(node.path);
    if (!loaded) {
      items.push({ kind: 'text', node, text: 'counting …', of: 1, at: 1 });
    } else if (loaded.error) {
      items.push({ kind: 'text', node, text: loaded.error, of: 1, at: 1 });
    } else {
      const greatest = loaded.values[0]?.count ?? 1;
      const of = loaded.values.length + (loaded.more ? 1 : 0);
      loaded.values.forEach((value, i) =>
        items.push({ kind: 'value', node, value, share: value.count / greatest, of, at: i + 1 }),
      );
      if (!loaded.values.length) items.push({ kind: 'text', node, text: 'no values', of: 1, at: 1 });
      if (loaded.more) items.push({ kind: 'more', node, of, at: of });
    }
  }

  render(index) {
    const item = this.items[index];
    const level = item.node.depth + (item.kind === 'field' ? 0 : 1);
    const row = el('div', {
      className: `row row-${item.kind}`,
      role: 'treeitem',
      id: `tree-${index}`,
      'aria-level': level,
      'aria-setsize': item.of,
      'aria-posinset': item.at,
      'aria-selected': String(index === this.active),
    });
    row.dataset.index = index;
    row.style.setProperty('--level', level - 1);
    if (item.kind === 'field') this.renderField(row, item);
    else if (item.kind === 'value') this.renderValue(row, item);
    else if (item.kind === 'more') row.append(el('span', { className: 'link' }, 'more values'));
    else row.append(data('muted', item.text, 80));
    return row;
  }

  renderField(row, { node, open }) {
    row.setAttribute('aria-expanded', String(open));
    row.dataset.path = node.path;
    const here = this.counts ? (this.counts.get(node.path) ?? 0) : node.count;
    const records = this.counts ? this.records : this.root.count;
    const share = node.path.includes('*') ? null : here / Math.max(1, records);
    const types = Object.entries(node.types ?? {}).sort((a, b) => b[1] - a[1]);
    const short = types.map(([name]) => SHORT[name] ?? name);
    const title = [
      visibleText(node.path),
      ...types.map(([name, n]) => `${name}: ${count(n)}`),
      `${count(here)} of ${count(records)} records`,
    ];
    if (node.distinct !== undefined && node.distinct !== null)
      title.push(`${node.distinct_exact ? '' : '~'}${count(node.distinct)} distinct`);
    row.title = title.join('\n');
    if (here === 0) row.classList.add('absent');
    row.append(
      el('span', { className: `twist${open ? ' twist-open' : ''}` }, icon('right')),
      data('field-name', node.name, 60),
      el('span', { className: `type type-${types[0]?.[0] ?? 'null'}` }, [...new Set(short)].join(' | ')),
      el(
        'span',
        { className: 'field-actions' },
        el(
          'button',
          {
            type: 'button',
            className: 'quiet tiny',
            tabIndex: -1,
            'aria-label': `Bars of ${visibleText(node.path)}`,
            title: 'Bars (b)',
            'data-do': 'bars',
          },
          icon('bars'),
        ),
        el(
          'button',
          {
            type: 'button',
            className: 'quiet tiny',
            tabIndex: -1,
            'aria-label': `Column of ${visibleText(node.path)}`,
            title: 'Column (c)',
            'data-do': 'column',
          },
          icon(this.isColumn(node.path) ? 'minus' : 'plus'),
        ),
      ),
      el(
        'span',
        { className: 'share', title: `${count(here)} records` },
        share === null ? count(here) : percent(share),
      ),
    );
  }

  renderValue(row, { value, share }) {
    const text = write(value.value);
    row.title = `${visibleText(text)}\nClick: only these. Shift-click: all others.`;
    const bar = el('span', { className: 'value-bar' });
    bar.style.width = `${(share * 100).toFixed(2)}%`;
    row.append(
      bar,
      data(
        `value j-${value.value.kind}`,
        value.value.kind === 'string' ? value.value.value || '""' : text,
        80,
      ),
      el('span', { className: 'value-count' }, count(value.count)),
    );
    if (literal(value.value) === null) row.setAttribute('aria-disabled', 'true');
    row.dataset.value = text;
  }

  // Acting

  toggle(node, open = !this.open.has(node.path)) {
    if (open) this.open.add(node.path);
    else this.open.delete(node.path);
    this.flatten();
    if (open && hasValues(node) && !this.loaded.has(node.path)) this.load(node);
  }

  act(index, { exclude = false } = {}) {
    const item = this.items[index];
    if (!item) return;
    if (item.kind === 'field') this.toggle(item.node);
    else if (item.kind === 'value') this.filter(item.node, item.value.value, exclude);
    else if (item.kind === 'more') this.bars(item.node);
  }

  click(event) {
    const row = event.target.closest('.row');
    if (!row) return;
    this.active = Number(row.dataset.index);
    this.mark();
    const todo = event.target.closest('[data-do]')?.dataset.do;
    const { node } = this.items[this.active];
    if (todo === 'bars') this.bars(node);
    else if (todo === 'column') this.column(node);
    else this.act(this.active, { exclude: event.shiftKey });
  }

  mark() {
    for (const [index, row] of this.list.rows) {
      row.classList.toggle('active', index === this.active);
      row.setAttribute('aria-selected', String(index === this.active));
    }
    if (this.items.length) this.element.setAttribute('aria-activedescendant', `tree-${this.active}`);
    else this.element.removeAttribute('aria-activedescendant');
  }

  goto(index) {
    this.active = Math.max(0, Math.min(this.items.length - 1, index));
    this.list.reveal(this.active);
    this.mark();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const item = this.items[this.active];
    const page = Math.max(1, Math.floor(this.element.clientHeight / ROW) - 1);
    const moves = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -Infinity,
      End: Infinity,
    };
    if (event.key in moves) this.goto(this.active + moves[event.key]);
    else if (!item) return;
    else if (event.key === 'Enter') this.act(this.active, { exclude: event.shiftKey });
    else if (event.key === 'ArrowRight') {
      if (item.kind === 'field' && !item.open) this.toggle(item.node, true);
      else this.goto(this.active + 1);
    } else if (event.key === 'ArrowLeft') {
      if (item.kind === 'field' && this.open.has(item.node.path)) this.toggle(item.node, false);
      else {
        const above = item.kind === 'field' ? item.node.parent : item.node;
        if (above) this.goto(this.items.findIndex((i) => i.kind === 'field' && i.node === above));
      }
    } else if (event.key === '*') {
      const parent = item.node.parent ?? this.root;
      for (const node of parent.children) if (node.children?.length) this.open.add(node.path);
      this.flatten();
    } else if (event.key === 'b') this.bars(item.node);
    else if (event.key === 'c') this.column(item.node);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/** True if values of the field itself are worth counting: if some of them are not containers. */
export function hasValues(node) {
  return Object.keys(node.types ?? {}).some((type) => type !== 'object' && type !== 'array');
}
