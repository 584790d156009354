// A list of which only the rows in view are elements. All rows have one height, so positions are arithmetic.

import { el } from './dom.js';

// Browsers give up on elements beyond about 16 million pixels.
const TALLEST = 15_000_000;
const BEYOND = 10;

export class VirtualList {
  /** `render(index)` makes the element of a row. `scroller` gets the rows; `onScroll` hears the last row. */
  constructor(scroller, rowHeight, render, { onScroll = () => {} } = {}) {
    this.scroller = scroller;
    this.rowHeight = rowHeight;
    this.render = render;
    this.onScroll = onScroll;
    this.rows = new Map();
    this.count = 0;
    this.space = el('div', { className: 'space', role: 'presentation' });
    scroller.append(this.space);
    scroller.addEventListener('scroll', () => this.draw(), { passive: true });
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(scroller);
  }

  /** Sets the number of rows. Rows that are drawn already stay, unless `anew`. */
  set(count, anew = true) {
    this.count = Math.min(count, Math.floor(TALLEST / this.rowHeight));
    this.space.style.height = `${this.count * this.rowHeight}px`;
    if (anew) this.clear();
    this.draw();
  }

  clear() {
    for (const row of this.rows.values()) row.remove();
    this.rows.clear();
  }

  draw() {
    const { scrollTop, clientHeight } = this.scroller;
    const first = Math.max(0, Math.floor(scrollTop / this.rowHeight) - BEYOND);
    const end = Math.min(this.count, Math.ceil((scrollTop + clientHeight) / this.rowHeight) + BEYOND);
    for (const [index, row] of this.rows) {
      if (index < first || index >= end) {
        row.remove();
        this.rows.delete(index);
      }
    }
    let before = null;
    for (let index = first; index < end; index += 1) {
      let row = this.rows.get(index);
      if (!row) {
        row = this.render(index);
        row.style.top = `${index * this.rowHeight}px`;
        this.rows.set(index, row);
        // The order of elements is that of rows, for readers of the screen.
        if (before) before.after(row);
        else this.space.prepend(row);
      }
      before = row;
    }
    this.onScroll(end);
  }

  /** The element of a row, if it is in view. */
  row(index) {
    return this.rows.get(index);
  }

  /** Scrolls so that the row is in view, below a header of `top` pixels. */
  reveal(index, top = 0) {
    const from = index * this.rowHeight;
    const { scrollTop, clientHeight } = this.scroller;
    if (from < scrollTop + 0) this.scroller.scrollTop = from;
    else if (from + this.rowHeight > scrollTop + clientHeight - top) {
      this.scroller.scrollTop = from + this.rowHeight - clientHeight + top;
    }
    this.draw();
  }

  destroy() {
    this.observer.disconnect();
    this.clear();
    this.space.remove();
  }
}
