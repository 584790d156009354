// Records over time: a bar for each bucket, a range that is dragged with the mouse or set with the keyboard.

import { el, svg, count, counted } from './dom.js';
import { bucketBefore, bucketEnd, shown, ticks } from './time.js';

const FOOT = 18;
const HEAD = 6;
const SIDE = 44;

export class Histogram {
  /** `restrict(from, to)` sets the range, in milliseconds; `widen()` takes it away. */
  constructor({ restrict, widen }) {
    this.element = document.getElementById('chart');
    this.restrict = restrict;
    this.widen = widen;
    this.buckets = [];
    this.cursor = 0;
    this.anchor = null;
    this.drawing = svg('svg', { class: 'drawing', 'aria-hidden': 'true' });
    this.tip = el('div', { className: 'tip', hidden: true });
    this.empty = el('p', { className: 'empty muted', hidden: true });
    this.element.append(this.drawing, this.tip, this.empty);
    new ResizeObserver(() => this.draw()).observe(this.element);
    this.element.addEventListener('pointerdown', (event) => this.press(event));
    this.element.addEventListener('pointermove', (event) => this.drag(event));
    this.element.addEventListener('pointerup', (event) => this.release(event));
    this.element.addEventListener('pointerleave', () => {
      if (this.pressed === undefined) this.tip.hidden = true;
    });
    this.element.addEventListener('dblclick', () => this.widen());
    this.element.addEventListener('keydown', (event) => this.key(event));
    this.element.addEventListener('focus', () => this.draw());
    this.element.addEventListener('blur', () => {
      this.anchor = null;
      this.tip.hidden = true;
      this.draw();
    });
  }

  /** Shows why there are no bars. */
  say(text) {
    this.buckets = [];
    this.empty.textContent = text;
    this.empty.hidden = false;
    this.element.setAttribute('aria-disabled', 'true');
    this.element.setAttribute('aria-valuetext', text);
    this.draw();
  }

  /** Shows buckets `[{ from, count }]` of length `every`, and the empty ones between `from` and `to`. */
  set(counts, every, from, to) {
    this.every = every;
    this.anchor = null;
    this.buckets = [];
    const known = new Map(counts.map((bucket) => [bucket.from, bucket.count]));
    // Buckets begin where the server says, so empty ones are found from one that is not.
    let at = Math.min(...known.keys(), Infinity);
    if (at === Infinity) at = from;
    while (at > from) at = bucketBefore(at, every);
    const end = Math.max(to, ...known.keys());
    for (; at < end || known.has(at); at = bucketEnd(at, every)) {
      this.buckets.push({ from: at, to: bucketEnd(at, every), count: known.get(at) ?? 0 });
    }
    this.from = Math.min(from, this.buckets[0]?.from ?? from);
    this.to = Math.max(to, this.buckets.at(-1)?.to ?? to);
    this.greatest = Math.max(1, ...this.buckets.map((bucket) => bucket.count));
    this.cursor = Math.min(this.cursor, Math.max(0, this.buckets.length - 1));
    this.empty.hidden = true;
    this.element.removeAttribute('aria-disabled');
    this.element.setAttribute('aria-valuemax', Math.max(0, this.buckets.length - 1));
    this.draw();
    this.describe();
  }

  x(ms) {
    return SIDE + ((ms - this.from) / (this.to - this.from)) * (this.width - SIDE);
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.element;
    this.width = width;
    this.drawing.setAttribute('width', width);
    this.drawing.setAttribute('height', height);
    this.drawing.replaceChildren();
    if (!this.buckets.length || !width) return;
    const floor = height - FOOT;
    const scale = (floor - HEAD) / this.greatest;
    for (const share of [0.5, 1]) {
      const value = this.greatest * share;
      const y = Math.round(floor - value * scale) + 0.5;
      this.drawing.append(svg('line', { class: 'grid', x1: SIDE, x2: width, y1: y, y2: y }));
      if (Number.isInteger(value) || share === 1) {
        this.drawing.append(
          svg('text', { class: 'tick', x: SIDE - 8, y: y + 4, 'text-anchor': 'end' }, compact(value)),
        );
      }
    }
    const focused = this.element.matches(':focus-visible') && this.pressed === undefined;
    const chosen = this.selection();
    this.buckets.forEach((bucket, i) => {
      const left = this.x(bucket.from);
      const right = this.x(bucket.to);
      const gap = right - left > 5 ? 1 : 0;
      const tall = bucket.count ? Math.max(1.5, bucket.count * scale) : 0;
      const inside = chosen && i >= chosen[0] && i <= chosen[1];
      if (tall) {
        this.drawing.append(
          svg('rect', {
            class: `bar-time${inside ? ' inside' : ''}`,
            x: left,
            y: floor - tall,
            width: Math.max(0.6, right - left - gap),
            height: tall,
            'data-from': bucket.from,
            'data-count': bucket.count,
          }),
        );
      }
      if (focused && i === this.cursor) {
        this.drawing.append(
          svg('rect', {
            class: 'cursor',
            x: left,
            y: HEAD - 4,
            width: Math.max(2, right - left - gap),
            height: floor - HEAD + 4,
          }),
        );
      }
    });
    if (chosen) {
      const left = this.x(this.buckets[chosen[0]].from);
      const right = this.x(this.buckets[chosen[1]].to);
      this.drawing.prepend(
        svg('rect', { class: 'brush', x: left, y: 0, width: right - left, height: floor }),
      );
    }
    this.drawing.append(
      svg('line', { class: 'axis', x1: SIDE, x2: width, y1: floor + 0.5, y2: floor + 0.5 }),
    );
    for (const { ms, label } of ticks(this.from, this.to, Math.max(2, Math.floor(width / 90)))) {
      const x = this.x(ms);
      if (x > width - 16) continue;
      this.drawing.append(svg('line', { class: 'axis', x1: x, x2: x, y1: floor, y2: floor + 4 }));
      this.drawing.append(
        svg(
          'text',
          { class: 'tick', x, y: height - 3, 'text-anchor': x < SIDE + 16 ? 'start' : 'middle' },
          label,
        ),
      );
    }
  }

  selection() {
    if (this.pressed !== undefined && this.moved)
      return [Math.min(this.pressed, this.at), Math.max(this.pressed, this.at)];
    if (this.anchor !== null) return [Math.min(this.anchor, this.cursor), Math.max(this.anchor, this.cursor)];
    return null;
  }

  /** The number of the bucket at the pointer. */
  under(event) {
    const { left } = this.element.getBoundingClientRect();
    const share = (event.clientX - left - SIDE) / (this.width - SIDE);
    const ms = this.from + share * (this.to - this.from);
    const at = this.buckets.findIndex((bucket) => ms < bucket.to);
    return at < 0 ? this.buckets.length - 1 : Math.max(0, at);
  }

  press(event) {
    if (event.button !== 0 || !this.buckets.length) return;
    this.element.setPointerCapture(event.pointerId);
    this.pressed = this.under(event);
    this.start = event.clientX;
    this.at = this.pressed;
    this.moved = false;
    this.anchor = null;
  }

  drag(event) {
    if (!this.buckets.length) return;
    this.at = this.under(event);
    if (this.pressed !== undefined) {
      this.moved ||= Math.abs(event.clientX - this.start) > 3;
      this.draw();
    }
    this.hover(this.at, this.pressed !== undefined && this.moved ? this.selection() : null);
  }

  release(event) {
    if (this.pressed === undefined) return;
    this.at = this.under(event);
    const chosen = this.moved ? this.selection() : [this.pressed, this.pressed];
    this.cursor = chosen[0];
    this.pressed = undefined;
    this.draw();
    // One click shows a bucket; it restricts the time only where a bucket can be divided.
    if (this.moved) this.choose(chosen);
  }

  choose([first, last]) {
    this.anchor = null;
    this.restrict(this.buckets[first].from, this.buckets[last].to);
  }

  hover(at, chosen) {
    const [first, last] = chosen ?? [at, at];
    this.tip.textContent = this.text(first, last);
    this.tip.hidden = false;
    const middle = (this.x(this.buckets[first].from) + this.x(this.buckets[last].to)) / 2;
    const half = this.tip.offsetWidth / 2;
    this.tip.style.left = `${Math.max(SIDE, Math.min(this.width - 2 * half, middle - half))}px`;
  }

  text(first, last) {
    const { from } = this.buckets[first];
    const { to } = this.buckets[last];
    const span = bucketEnd(from, this.every) - from;
    const records = this.buckets.slice(first, last + 1).reduce((sum, bucket) => sum + bucket.count, 0);
    return `${shown(from, span * 10)} to ${shown(to, span * 10).replace(shown(from, span * 10).slice(0, 11), '')}: ${counted(records, 'record')}`;
  }

  describe() {
    if (!this.buckets.length) return;
    const chosen = this.selection() ?? [this.cursor, this.cursor];
    this.element.setAttribute('aria-valuenow', this.cursor);
    this.element.setAttribute('aria-valuetext', this.text(...chosen));
    if (document.activeElement === this.element) this.hover(this.cursor, this.selection());
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };
    if (event.key in moves && this.buckets.length) {
      if (event.shiftKey) this.anchor ??= this.cursor;
      else this.anchor = null;
      this.cursor = Math.max(0, Math.min(this.buckets.length - 1, this.cursor + moves[event.key]));
      this.draw();
      this.describe();
    } else if (event.key === 'Enter' && this.buckets.length) {
      this.choose(this.selection() ?? [this.cursor, this.cursor]);
    } else if (event.key === 'Escape' && this.anchor !== null) {
      this.anchor = null;
      this.draw();
      this.describe();
    } else if (event.key === 'Escape' || event.key === 'Backspace') this.widen();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/** A number for the axis: 12, 3.4k, 56M. */
export function compact(number) {
  for (const [size, unit] of [
    [1e9, 'G'],
    [1e6, 'M'],
    [1e3, 'k'],
  ]) {
    if (number >= size) {
      const value = number / size;
      return `${value >= 100 ? Math.round(value) : Number(value.toFixed(1))}${unit}`;
    }
  }
  return number < 1000 && Number.isInteger(number) ? count(number) : number.toFixed(1);
}
