// One field: its most frequent values as bars, and for numbers the statistics and a histogram.

import { el, icon, data, visible, visibleText, count, counted, percent } from './dom.js';
import { VirtualList } from './virtual.js';
import { parse, member, write } from './json.js';
import { literal } from './paths.js';

const ROW = 26;
const TOP = 100;
// As many as a list can have.
const ALL = 500_000;
const BINS = 32;
// A histogram of more different numbers than this is drawn from quantiles.
const EXACT = 2000;
const QUANTILES = Array.from({ length: 199 }, (_, i) => ((i + 1) / 200).toString());

export class FieldPanel {
  /** `counts(path, top, signal, each)` and `stats(path, quantiles, signal)` give lines; the rest is what to do. */
  constructor(panel, { counts, stats, filter, range, column, isColumn, close }) {
    Object.assign(this, { panel, counts, stats, filter, range, column, isColumn, close });
  }

  /** Draws the panel for `node`, and fills it. */
  async show(node, signal) {
    const isNew = this.node?.path !== node.path;
    this.node = node;
    if (isNew) this.frame(node);
    this.signal = signal;
    await Promise.all([this.fillValues(TOP), this.fillNumbers()]);
  }

  frame(node) {
    this.list?.destroy();
    this.list = null;
    this.wanted = '';
    this.numbers = el('section', { className: 'numbers', 'aria-label': 'Statistics' });
    this.listBox = el('div', {
      className: 'bars scroll',
      role: 'listbox',
      tabIndex: 0,
      'aria-label': `Values of ${visibleText(node.path)}`,
    });
    this.head = el('div', { className: 'bars-head' });
    this.find = el('input', {
      type: 'search',
      placeholder: 'Find a value',
      'aria-label': 'Find a value',
      spellcheck: false,
      autocomplete: 'off',
      input: () => this.narrow(),
      keydown: (event) => event.stopPropagation(),
    });
    this.title = el('header', { className: 'panel-head' });
    this.drawHead();
    this.panel.replaceChildren(
      this.title,
      el('div', { className: 'panel-body' }, this.numbers, this.head, this.find, this.listBox),
    );
    this.list = new VirtualList(this.listBox, ROW, (i) => this.render(i));
    this.rows = [];
    this.shown = [];
    this.active = 0;
    this.listBox.addEventListener('click', (event) => {
      const row = event.target.closest('.bar-row');
      if (row) this.act(Number(row.dataset.index), event.shiftKey);
    });
    this.listBox.addEventListener('keydown', (event) => this.key(event));
    this.panel.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' || this.panel.dataset.kind !== 'field') return;
      this.close();
      event.stopPropagation();
    });
  }

  /** Draws the title, whose button says whether the field is a column. */
  drawHead() {
    const { node } = this;
    if (!node) return;
    const isColumn = this.isColumn(node.path);
    this.title.replaceChildren(
      el('h2', { title: visibleText(node.path) }, data('', node.path, 80)),
      el(
        'button',
        {
          type: 'button',
          className: 'quiet tiny',
          'aria-label': isColumn ? 'Remove the column' : 'Show as a column',
          title: 'Column',
          click: () => this.column(node),
        },
        icon(isColumn ? 'minus' : 'plus'),
      ),
      el(
        'button',
        {
          type: 'button',
          className: 'quiet tiny',
          'aria-label': 'Close',
          title: 'Close (Esc)',
          click: () => this.close(),
        },
        icon('close'),
      ),
    );
  }

  /** Shows why there are no values. */
  fail(error) {
    this.head.replaceChildren(el('p', { className: 'bad' }, ...visible(error.message)));
  }

  async fillValues(top) {
    const { signal, node } = this;
    const rows = [];
    // Lines are parsed as they arrive, so that a million of them does not hold up the page at once.
    await this.counts(node.path, top + 2, signal, (lines) => {
      for (const line of lines) {
        const row = parse(line);
        const value = member(row, node.path);
        const text = !value ? 'missing' : value.kind === 'string' ? value.value : write(value);
        rows.push({ count: Number(member(row, 'count').text), value, text });
      }
    });
    if (signal.aborted || node !== this.node) return;
    // Records without a value come last, whatever their number, and do not set the scale.
    const without = rows.filter((row) => !row.value);
    const found = rows.filter((row) => row.value);
    this.more = found.length > top;
    this.rows = [...found.slice(0, top), ...without];
    this.greatest = found[0]?.count ?? 1;
    this.total = this.more ? null : rows.reduce((sum, row) => sum + row.count, 0);
    const shownValues = this.rows.length - without.length;
    const all =
      this.more && top < ALL
        ? el(
            'button',
            {
              type: 'button',
              className: 'link',
              id: 'all-values',
              click: (event) => {
                event.target.textContent = 'counting …';
                this.fillValues(ALL).catch((error) => {
                  event.target.textContent = error.message;
                });
              },
            },
            'all values',
          )
        : null;
    this.head.replaceChildren(
      el('h3', {}, this.more ? `Top ${count(top)} values` : counted(shownValues, 'value')),
      all ?? '',
    );
    this.find.hidden = this.rows.length < 20;
    this.narrow();
  }

  narrow() {
    const wanted = this.find.value.toLowerCase();
    this.shown = wanted ? this.rows.filter((row) => row.text.toLowerCase().includes(wanted)) : this.rows;
    this.active = 0;
    this.list.set(this.shown.length);
  }

  render(index) {
    const { value, text, count: records } = this.shown[index];
    const row = el('div', {
      className: 'bar-row',
      role: 'option',
      id: `bar-${index}`,
      'aria-selected': String(index === this.active),
      'aria-setsize': this.shown.length,
      'aria-posinset': index + 1,
      title: `${visibleText(text.slice(0, 400))}\nClick: only these. Shift-click: all others.`,
    });
    row.dataset.index = index;
    row.dataset.value = text;
    const bar = el('span', { className: 'bar-fill' });
    bar.style.width = value ? `${((records / this.greatest) * 100).toFixed(2)}%` : '0';
    row.append(
      bar,
      value
        ? data(`value j-${value.kind}`, text || '""', 120)
        : el('span', { className: 'value muted' }, 'missing'),
      el('span', { className: 'bar-share' }, this.total ? percent(records / this.total) : ''),
      el('span', { className: 'value-count' }, count(records)),
    );
    return row;
  }

  act(index, exclude) {
    const item = this.shown[index];
    if (item && (!item.value || literal(item.value) !== null)) this.filter(this.node, item.value, exclude);
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.listBox.clientHeight / ROW) - 1);
    const moves = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -Infinity,
      End: Infinity,
    };
    if (event.key in moves) {
      this.active = Math.max(0, Math.min(this.shown.length - 1, this.active + moves[event.key]));
      this.list.reveal(this.active);
      for (const [index, row] of this.list.rows)
        row.setAttribute('aria-selected', String(index === this.active));
      this.listBox.setAttribute('aria-activedescendant', `bar-${this.active}`);
    } else if (event.key === 'Enter') this.act(this.active, event.shiftKey);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  async fillNumbers() {
    const { signal, node } = this;
    const types = Object.keys(node.types ?? {});
    if (!types.some((type) => !['object', 'array', 'null'].includes(type))) return;
    const [line] = await this.stats(node.path, QUANTILES.join(','), signal);
    if (!line || signal.aborted || node !== this.node) return;
    const row = parse(line);
    const text = (name) => {
      const value = member(row, name);
      return !value || value.kind === 'null' ? null : value.kind === 'string' ? value.value : value.text;
    };
    const n = (name) => Number(text(name) ?? 0);
    const facts = [];
    const distinct = text('distinct');
    if (n('number')) {
      for (const [name, key] of [
        ['least', 'least'],
        ['greatest', 'greatest'],
        ['mean', 'mean'],
        ['sum', 'sum'],
        ['median', 'p50'],
        ['p95', 'p95'],
        ['p99', 'p99'],
      ])
        facts.push([name, text(key)]);
    } else if (n('string')) facts.push(['first', text('first')], ['last', text('last')]);
    if (distinct !== null) facts.push(['distinct', count(Number(distinct))]);
    for (const kind of ['missing', 'null', 'boolean', 'string', 'number', 'array', 'object', 'other']) {
      if (n(kind))
        facts.push([
          kind === 'number'
            ? 'numbers'
            : kind === 'missing' || kind === 'null' || kind === 'other'
              ? kind
              : `${kind}s`,
          count(n(kind)),
        ]);
    }
    const list = el(
      'dl',
      { className: 'facts' },
      ...facts
        .filter(([, value]) => value !== null)
        .map(([name, value]) =>
          el('div', {}, el('dt', {}, name), el('dd', { title: visibleText(value) }, data('', value, 60))),
        ),
    );
    const chart = n('number') > 1 ? await this.bins(row, n, signal) : null;
    if (signal.aborted || node !== this.node) return;
    this.numbers.replaceChildren(...(chart ? [chart] : []), list);
  }

  /** A histogram of the numbers: from the counts of all values, or from quantiles if there are very many. */
  async bins(row, n, signal) {
    const least = Number(member(row, 'least')?.text);
    const greatest = Number(member(row, 'greatest')?.text);
    if (!(greatest > least) || !Number.isFinite(greatest - least)) return null;
    const numbers = n('number');
    let below;
    let exact = false;
    if (n('distinct') <= EXACT) {
      const lines = [];
      await this.counts(this.node.path, EXACT + 2, signal, (group) => lines.push(...group));
      const numbersOf = lines
        .map(parse)
        .filter((r) => member(r, this.node.path)?.kind === 'number')
        .map((r) => [Number(member(r, this.node.path).text), Number(member(r, 'count').text)])
        .sort((a, b) => a[0] - b[0]);
      below = (x) => numbersOf.reduce((sum, [value, times]) => (value < x ? sum + times : sum), 0);
      exact = true;
    } else {
      const points = [
        [least, 0],
        ...QUANTILES.map((q) => [Number(member(row, quantileName(q)).text), Number(q)]),
        [greatest, 1],
      ];
      below = (x) => numbers * shareBelow(points, x);
    }
    // Numbers of several sizes are told apart on a logarithmic scale only.
    const median = Number(member(row, 'p50')?.text);
    const logarithmic = least > 0 && greatest / median > 20 && greatest / least > 50;
    const to = logarithmic ? Math.log : (x) => x;
    const back = logarithmic ? Math.exp : (x) => x;
    const whole =
      Number.isInteger(least) &&
      Number.isInteger(greatest) &&
      !Object.keys(this.node.types).includes('float64');
    const bins = Math.min(BINS, whole && !logarithmic ? greatest - least + 1 : BINS);
    const high = whole && !logarithmic ? greatest + 1 : greatest;
    const edges = Array.from({ length: bins + 1 }, (_, i) =>
      i === 0
        ? least
        : i === bins
          ? high
          : tidy(back(to(least) + ((to(high) - to(least)) * i) / bins), whole, (high - least) / bins),
    );
    const bars = [];
    for (let i = 0; i < bins; i += 1) {
      if (edges[i + 1] <= edges[i]) continue;
      const last = i === bins - 1;
      bars.push({
        low: edges[i],
        high: edges[i + 1],
        last,
        count: (last ? numbers : below(edges[i + 1])) - (i === 0 ? 0 : below(edges[i])),
      });
    }
    const most = Math.max(1, ...bars.map((bar) => bar.count));
    return el(
      'figure',
      { className: 'bins' },
      el(
        'div',
        { className: 'bins-bars', role: 'group', 'aria-label': 'Histogram' },
        ...bars.map((bar) => {
          const about = exact ? '' : 'about ';
          const label = `${bar.low} to ${bar.last ? greatest : bar.high}: ${about}${count(Math.round(bar.count))}`;
          const fill = el('span', { className: 'bin-fill' });
          fill.style.height = `${bar.count > 0 ? Math.max(1.5, (bar.count / most) * 100) : 0}%`;
          return el(
            'button',
            {
              type: 'button',
              className: 'bin',
              title: label,
              'aria-label': label,
              click: () =>
                this.range(
                  this.node,
                  String(bar.low),
                  bar.last ? member(row, 'greatest').text : String(bar.high),
                  bar.last,
                ),
            },
            fill,
          );
        }),
      ),
      el(
        'figcaption',
        {},
        el('span', {}, String(least)),
        el(
          'span',
          { className: 'muted' },
          [logarithmic ? 'logarithmic' : '', exact ? '' : 'from 199 quantiles'].filter(Boolean).join(', '),
        ),
        el('span', {}, String(greatest)),
      ),
    );
  }
}

/** The column of a quantile in the result of `stats`: `p50` of 0.5, `p99.5` of 0.995. */
function quantileName(q) {
  return `p${Number((Number(q) * 100).toFixed(4))}`;
}

/** The share of numbers below x, between quantiles in a straight line. */
function shareBelow(points, x) {
  if (x <= points[0][0]) return 0;
  for (let i = 1; i < points.length; i += 1) {
    const [b, q] = points[i];
    if (x > b) continue;
    const [a, p] = points[i - 1];
    return b > a ? p + ((q - p) * (x - a)) / (b - a) : p;
  }
  return 1;
}

/** An edge that is short to read: whole, or with three digits of the width. */
function tidy(x, whole, width) {
  if (whole) return Math.round(x);
  const digits = Math.max(0, Math.min(15, 2 - Math.floor(Math.log10(Math.min(width, Math.abs(x) || width)))));
  return Number(x.toFixed(digits));
}
