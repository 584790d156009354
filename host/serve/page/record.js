// One record as a tree in colours. Its leaves filter.

import { el, icon, data, visibleText, count } from './dom.js';
import { child, literal, equal, unequal } from './paths.js';

// Elements of a long array, and members of a large object, are drawn in groups of this size.
const GROUP = 200;

/** Draws `record` into `panel`. `filter(path, value, exclude)` restricts; `column(path)` shows a column. */
export function showRecord(panel, { record, title, filter, column, close, filterable = true }) {
  const tree = el('div', { className: 'json', role: 'tree', 'aria-label': 'Record', tabIndex: 0 });
  const copy = el(
    'button',
    {
      type: 'button',
      className: 'quiet tiny',
      'aria-label': 'Copy the record',
      title: 'Copy the record',
      click: () => navigator.clipboard?.writeText(record.line),
    },
    icon('copy'),
  );
  panel.replaceChildren(
    el(
      'header',
      { className: 'panel-head' },
      el('h2', {}, title),
      copy,
      el(
        'button',
        {
          type: 'button',
          className: 'quiet tiny',
          'aria-label': 'Close',
          title: 'Close (Esc)',
          click: close,
        },
        icon('close'),
      ),
    ),
    el('div', { className: 'panel-body scroll' }, tree),
  );
  tree.append(branch(record.value, '$', 0, { filter, column, filterable }));
  rove(tree, close);
  return tree;
}

function leaf(value) {
  const text = value.kind === 'string' ? JSON.stringify(value.value).slice(1, -1) : value.text;
  if (value.kind === 'string')
    return el('span', { className: 'j-string' }, '"', data('', value.value, 20000), '"');
  return data(`j-${value.kind}`, text, 20000);
}

/** The rows of the members or elements of `value`, or of a value that is no container. */
function branch(value, path, level, acts) {
  const group = el('div', { role: level ? 'group' : 'presentation', className: 'branch' });
  let entries;
  if (value.kind === 'object')
    entries = value.members.map((m) => ({ name: m.name, value: m.value, path: child(path, m.name) }));
  else if (value.kind === 'array')
    entries = value.items.map((item, i) => ({ index: i, value: item, path: `${path}[*]` }));
  else entries = [{ value, path }];
  const draw = (from) => {
    const rows = entries.slice(from, from + GROUP).map((entry) => twig(entry, level, acts));
    group.append(...rows);
    const left = entries.length - from - GROUP;
    if (left > 0) {
      const more = el(
        'button',
        { type: 'button', className: 'link more', click: () => (more.remove(), draw(from + GROUP)) },
        `${count(left)} more`,
      );
      group.append(more);
    }
  };
  draw(0);
  return group;
}

function twig(entry, level, acts) {
  const { value, path } = entry;
  const inner = value.kind === 'object' ? value.members : value.kind === 'array' ? value.items : null;
  const row = el('div', { className: 'twig', role: 'treeitem', 'aria-level': level + 1, tabIndex: -1 });
  const line = el('div', { className: 'twig-line' });
  row.append(line);
  if (entry.name !== undefined)
    line.append(data('key', entry.name || '""', 200), el('span', { className: 'colon' }, ': '));
  else if (entry.index !== undefined)
    line.append(
      el('span', { className: 'key index' }, String(entry.index)),
      el('span', { className: 'colon' }, ': '),
    );
  row.title = visibleText(path);
  if (inner) {
    const words = value.kind === 'object' ? ['{', '}'] : ['[', ']'];
    const size = el(
      'span',
      { className: 'muted size' },
      inner.length ? `${words[0]} ${inner.length} ${words[1]}` : words.join(''),
    );
    line.prepend(el('span', { className: 'twist' }, inner.length ? icon('right') : ''));
    line.append(size);
    if (inner.length) {
      let body = null;
      const set = (open) => {
        if (open && !body) row.append((body = branch(value, path, level + 1, acts)));
        if (body) body.hidden = !open;
        row.setAttribute('aria-expanded', String(open));
        line.firstChild.classList.toggle('twist-open', open);
      };
      row.toggle = (open = row.getAttribute('aria-expanded') !== 'true') => set(open);
      line.addEventListener('click', () => row.toggle());
      // Deep and wide containers wait until they are opened.
      set(level < 6 && inner.length <= GROUP);
    }
    return row;
  }
  line.prepend(el('span', { className: 'twist' }));
  const shown = leaf(value);
  line.append(shown);
  if (acts.filterable) {
    const text = literal(value);
    row.column = () => acts.column(path);
    if (text !== null) {
      row.act = (exclude) => acts.filter(path, value, exclude);
      shown.classList.add('filters');
      // A click that ends a selection of text is none, and Shift extends no selection here.
      shown.addEventListener('mousedown', (event) => event.shiftKey && event.preventDefault());
      shown.addEventListener('click', (event) => {
        if (event.shiftKey || getSelection().isCollapsed) row.act(event.shiftKey);
      });
      row.setAttribute(
        'aria-description',
        `Enter: ${equal(path, text)}. Shift and Enter: ${unequal(path, text)}`,
      );
      shown.title = `Click: only records with this value. Shift-click: all others.`;
    }
    line.append(
      el(
        'span',
        { className: 'twig-actions' },
        text === null
          ? null
          : el(
              'button',
              {
                type: 'button',
                className: 'quiet tiny',
                tabIndex: -1,
                title: 'Only these',
                'aria-label': 'Only records with this value',
                click: () => acts.filter(path, value, false),
              },
              '=',
            ),
        text === null
          ? null
          : el(
              'button',
              {
                type: 'button',
                className: 'quiet tiny',
                tabIndex: -1,
                title: 'All others',
                'aria-label': 'Only records without this value',
                click: () => acts.filter(path, value, true),
              },
              '≠',
            ),
        el(
          'button',
          {
            type: 'button',
            className: 'quiet tiny',
            tabIndex: -1,
            title: 'Column',
            'aria-label': 'Show as a column',
            click: row.column,
          },
          icon('plus'),
        ),
      ),
    );
  }
  return row;
}

/** Keys of a tree of elements: arrows move, Enter filters. */
function rove(tree, close) {
  const shown = () =>
    [...tree.querySelectorAll('.twig')].filter((row) => !row.parentElement.closest('[hidden]'));
  const go = (row) => {
    if (!row) return;
    row.focus();
    row.scrollIntoView({ block: 'nearest' });
  };
  tree.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const rows = shown();
    const at = rows.indexOf(event.target.closest('.twig'));
    const row = rows[at];
    if (event.key === 'ArrowDown') go(rows[at + 1]);
    else if (event.key === 'ArrowUp') go(rows[Math.max(0, at - 1)]);
    else if (event.key === 'Home') go(rows[0]);
    else if (event.key === 'End') go(rows.at(-1));
    else if (event.key === 'ArrowRight') row?.toggle?.(true);
    else if (event.key === 'ArrowLeft') {
      if (row?.getAttribute('aria-expanded') === 'true') row.toggle(false);
      else go(row?.parentElement.closest('.twig'));
    } else if (event.key === 'Enter') {
      if (row?.toggle) row.toggle();
      else row?.act?.(event.shiftKey);
    } else if (event.key === 'c' && row?.column) row.column();
    else if (event.key === 'Escape') close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}
