// The box for a condition or SQL: colours, completion, and the server's messages with a caret.

import { el, icon, visible, visibleText, data } from './dom.js';
import { tokens, sqlTokens, isSql, complete } from './language.js';

export class Box {
  /**
   * `changed(text)` hears every change, `entered(text)` the key Enter. `source()` gives what completions are
   * made of: `{ fields, tables, valuesOf }`.
   */
  constructor({ changed, entered, source }) {
    this.input = document.getElementById('condition');
    this.paper = document.getElementById('box-paper');
    this.list = document.getElementById('completions');
    this.fault = document.getElementById('fault');
    this.notes = document.getElementById('notes');
    this.clear = document.getElementById('clear');
    this.source = source;
    this.items = [];
    this.active = -1;
    this.mark = null;
    this.turn = 0;
    this.clear.append(icon('close'));
    this.clear.addEventListener('click', () => {
      this.set('');
      changed('');
      entered('');
      this.input.focus();
    });
    this.input.addEventListener('input', () => {
      this.mark = null;
      // The list stays until the next one is here, so what it replaces grows with the text.
      if (this.span) this.span.to += this.input.value.length - this.length;
      this.draw();
      changed(this.input.value);
      this.suggest();
    });
    this.input.addEventListener('keydown', (event) => this.key(event, entered));
    this.input.addEventListener('blur', () => this.close());
    this.input.addEventListener('click', () => this.close());
    this.input.addEventListener('scroll', () => {
      this.paper.scrollTop = this.input.scrollTop;
    });
    this.changed = changed;
    this.draw();
  }

  get text() {
    return this.input.value;
  }

  set(text) {
    if (text !== this.input.value) this.input.value = text;
    this.mark = null;
    this.close();
    this.draw();
  }

  focus() {
    this.input.focus();
  }

  /** Draws the text below the transparent text of the input, in colours, and sets the height. */
  draw() {
    const text = this.input.value;
    this.length = text.length;
    const found = isSql(text) ? sqlTokens(text) : tokens(text);
    const nodes = [];
    for (const token of found) {
      const pieces = this.mark ? cut(token, this.mark) : [{ ...token, marked: false }];
      for (const piece of pieces) {
        nodes.push(el('span', { className: `t-${token.kind}${piece.marked ? ' t-fault' : ''}` }, piece.text));
      }
    }
    // A fault at the end of the text is under the position after it.
    if (this.mark && this.mark.from >= text.length)
      nodes.push(el('span', { className: 't-fault' }, '\u00a0'));
    // Without it, the paper would not have the height of a last line that is empty.
    nodes.push('\u200b');
    this.paper.replaceChildren(...nodes);
    this.clear.hidden = !text;
    this.input.style.height = 'auto';
    this.input.style.height = `${Math.min(this.input.scrollHeight, 132)}px`;
    this.paper.style.height = this.input.style.height;
  }

  // Messages

  /** Shows an error of the server: the message, the text with the caret under its fault, and the help. */
  showError(error) {
    const { input, begin, end, help } = error;
    const children = [el('p', { className: 'fault-message' }, ...visible(error.message))];
    this.mark = null;
    if (typeof input === 'string' && typeof begin === 'number') {
      const from = characters(input, begin);
      const to = Math.max(from, characters(input, end ?? begin));
      if (input.trim() === this.text.trim() && this.text) {
        const shift = this.text.indexOf(input.trim()) - (input.length - input.trimStart().length);
        this.mark = { from: from + shift, to: Math.max(to, from + 1) + shift };
      }
      children.push(excerpt(input, from, to));
    }
    // A text that ends too early is still being written: its fault waits for the completions to go.
    this.input.parentElement.classList.toggle(
      'unfinished',
      Boolean(this.mark) && this.mark.to >= this.text.length,
    );
    if (help) children.push(el('p', { className: 'fault-help' }, ...visible(help)));
    this.fault.replaceChildren(...children);
    this.fault.hidden = false;
    this.input.setAttribute('aria-invalid', 'true');
    this.draw();
  }

  clearError() {
    this.fault.hidden = true;
    this.fault.replaceChildren();
    this.input.removeAttribute('aria-invalid');
    if (this.mark) {
      this.mark = null;
      this.draw();
    }
  }

  showNotes(notes) {
    const items = notes.map(({ level, message, help }) =>
      el(
        'li',
        {
          className: `note note-${level === 'warning' ? 'warning' : 'note'}`,
          title: visibleText(help ? `${message}\n${help}` : message),
        },
        ...visible(message),
        help ? el('span', { className: 'muted' }, ' ', ...visible(help)) : null,
      ),
    );
    this.notes.replaceChildren(...items);
    this.notes.hidden = !items.length;
  }

  // Completion

  async suggest(force = false) {
    this.turn += 1;
    const { turn } = this;
    const caret = this.input.selectionStart;
    const text = this.input.value;
    const typing =
      /[\p{L}\p{N}_$.@'"*(-]$/u.test(text.slice(0, caret)) ||
      /(?:==|!=|[<>=]|\bin \(|,|\blike)\s?$/i.test(text.slice(0, caret));
    if (!force && (!typing || this.input.selectionEnd !== caret)) {
      this.close();
      return;
    }
    let found;
    try {
      found = await complete(text, caret, this.source());
    } catch {
      // Values come from the server, which reports its errors where results are shown.
      if (turn === this.turn) this.close();
      return;
    }
    if (turn !== this.turn || document.activeElement !== this.input) return;
    const typed = text.slice(found.from, caret);
    const items = found.items.filter((item) => item.insert.trim() !== typed || found.items.length > 1);
    if (!items.length) {
      this.close();
      return;
    }
    this.open(found, items);
  }

  open(span, items) {
    this.span = span;
    this.items = items;
    this.active = -1;
    this.list.replaceChildren(
      ...items.map((item, i) =>
        el(
          'li',
          {
            role: 'option',
            id: `completion-${i}`,
            className: `completion completion-${item.kind}`,
            'aria-selected': 'false',
            // The box keeps the focus.
            mousedown: (event) => event.preventDefault(),
            click: () => this.accept(i),
          },
          data('completion-text', item.text, 120),
          item.detail ? data('completion-detail', item.detail, 60) : null,
        ),
      ),
    );
    this.list.hidden = false;
    this.list.scrollTop = 0;
    this.place();
  }

  /** Moves the list to the text that it completes, within the box. */
  place() {
    const paper = document.createRange();
    let left = this.span.from;
    for (const span of this.paper.childNodes) {
      const length = span.textContent.length;
      if (left <= length && span.firstChild) {
        paper.setStart(span.firstChild, left);
        paper.setEnd(span.firstChild, left);
        break;
      }
      left -= length;
    }
    const box = this.paper.getBoundingClientRect();
    const at = paper.getBoundingClientRect();
    const x = at.left ? at.left - box.left : 0;
    this.list.style.left = `${Math.max(0, Math.min(x - 9, box.width - 380))}px`;
  }

  close() {
    this.turn += 1;
    this.items = [];
    this.span = null;
    this.active = -1;
    this.list.hidden = true;
    this.list.replaceChildren();
    this.input.removeAttribute('aria-activedescendant');
  }

  move(by) {
    const n = this.items.length;
    const previous = this.list.children[this.active];
    previous?.setAttribute('aria-selected', 'false');
    this.active = this.active < 0 && by < 0 ? n - 1 : (this.active + by + n) % n;
    const next = this.list.children[this.active];
    next.setAttribute('aria-selected', 'true');
    next.scrollIntoView({ block: 'nearest' });
    this.input.setAttribute('aria-activedescendant', next.id);
  }

  accept(index) {
    const item = this.items[index];
    const { from, to } = this.span;
    const at = item.insert.indexOf('|');
    const insert = item.insert.replace('|', '');
    this.input.setRangeText(insert, from, to, 'end');
    if (at >= 0 && item.kind !== 'value' && item.kind !== 'field')
      this.input.setSelectionRange(from + at, from + at);
    this.close();
    this.draw();
    this.changed(this.input.value);
    if (at >= 0 && item.kind === 'function') this.suggest(true);
  }

  key(event, entered) {
    const open = !this.list.hidden;
    if (event.isComposing) return;
    if (event.key === 'ArrowDown' && open) this.move(1);
    else if (event.key === 'ArrowUp' && open) this.move(-1);
    else if (event.key === 'Tab' && open && !event.shiftKey) this.accept(Math.max(0, this.active));
    else if (event.key === 'Enter' && open && this.active >= 0) this.accept(this.active);
    else if (event.key === 'Enter' && !event.shiftKey) {
      this.close();
      entered(this.input.value);
    } else if (event.key === 'Escape' && open) this.close();
    else if (event.key === 'Escape') this.input.blur();
    else if (event.key === ' ' && event.ctrlKey) this.suggest(true);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/** A token as pieces inside and outside the mark. */
function cut(token, mark) {
  const points = [
    token.from,
    Math.min(Math.max(mark.from, token.from), token.to),
    Math.min(Math.max(mark.to, token.from), token.to),
    token.to,
  ];
  return points
    .slice(1)
    .map((to, i) => ({ text: token.text.slice(points[i] - token.from, to - token.from), marked: i === 1 }))
    .filter((piece) => piece.text);
}

/** The number of characters of `text` that `bytes` bytes of UTF-8 are. */
function characters(text, bytes) {
  return new TextDecoder().decode(new TextEncoder().encode(text).slice(0, bytes)).length;
}

/** The line of `text` with the fault, and the caret under it. */
function excerpt(text, from, to) {
  const start = text.lastIndexOf('\n', from - 1) + 1;
  const stop = text.indexOf('\n', from);
  const line = text.slice(start, stop < 0 ? undefined : stop);
  const a = from - start;
  const b = Math.min(line.length, to - start);
  const caret = el('span', { className: 'caret' }, '^'.repeat(Math.max(1, [...line.slice(a, b)].length)));
  // Caret and text share a cell, so that the caret is under its text whatever the widths of characters are.
  const cell = el(
    'span',
    { className: 'caret-cell' },
    el('span', {}, ...visible(line.slice(a, b) || ' ')),
    caret,
  );
  return el('pre', { className: 'excerpt' }, ...visible(line.slice(0, a)), cell, ...visible(line.slice(b)));
}
