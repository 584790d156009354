// Elements, and text that shows every character. No markup is ever made of a string: text becomes text nodes.

/** An element. Properties with a `-`, `role` and `for` are attributes; functions are listeners of events. */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (name.includes('-') || name === 'role' || name === 'for') element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const SVG = 'http://www.w3.org/2000/svg';

/** An element of SVG with these attributes. */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const ICONS = {
  close: 'M4 4l8 8M12 4l-8 8',
  bars: 'M2.5 4h11M2.5 8h7M2.5 12h4',
  plus: 'M8 3.5v9M3.5 8h9',
  minus: 'M3.5 8h9',
  right: 'M6 4l4 4-4 4',
  live: 'M2 8h3l2-5 3 10 2-5h2',
  sun: 'M8 5.2a2.8 2.8 0 100 5.6 2.8 2.8 0 000-5.6zM8 1.2v1.6M8 13.2v1.6M1.2 8h1.6M13.2 8h1.6M3.2 3.2l1.1 1.1M11.7 11.7l1.1 1.1M3.2 12.8l1.1-1.1M11.7 4.3l1.1-1.1',
  moon: 'M13 9.6A5.6 5.6 0 016.4 3a5.6 5.6 0 106.6 6.6z',
  auto: 'M8 2.2a5.8 5.8 0 100 11.6A5.8 5.8 0 008 2.2zM8 2.2v11.6M8 5l4-1M8 8h5.6M8 11l4.6.6',
  help: 'M5.8 6a2.2 2.2 0 114 1.2c-.7.9-1.8 1.1-1.8 2.4M8 12.2v.3',
  copy: 'M6 5.5h7v8H6zM10 5.5v-3H3v8h3',
};

/** A drawing of one line, in the colour of the text. */
export function icon(name) {
  const drawing = svg('svg', { viewBox: '0 0 16 16', class: `icon icon-${name}`, 'aria-hidden': 'true' });
  drawing.append(svg('path', { d: ICONS[name] }));
  return drawing;
}

// Control characters; marks and isolates that turn the direction of text; characters of no width; separators of
// lines; lone surrogates; characters for private use by nobody in particular.
const HIDDEN =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\p{Surrogate}]/gu;
const SHORT = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\b': '\\b', '\f': '\\f' };

/** How a hidden character is written out: as JSON escapes it. */
function written(character) {
  return SHORT[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** `text` as nodes: hidden characters become their escapes, in elements of class `hidden-char`. */
export function visible(text, limit = Infinity) {
  const cut = text.length > limit;
  // A pair of surrogates is not cut in two.
  const end = cut && /[\ud800-\udbff]/.test(text[limit - 1]) ? limit - 1 : limit;
  const shown = cut ? text.slice(0, end) : text;
  const nodes = [];
  let from = 0;
  for (const match of shown.matchAll(HIDDEN)) {
    if (match.index > from) nodes.push(shown.slice(from, match.index));
    nodes.push(el('span', { className: 'hidden-char' }, written(match[0])));
    from = match.index + match[0].length;
  }
  if (from < shown.length) nodes.push(shown.slice(from));
  if (cut) nodes.push(el('span', { className: 'cut' }, '…'));
  return nodes;
}

/** `visible` as one string, for titles and labels. */
export function visibleText(text) {
  return text.replace(HIDDEN, written);
}

/** Text of data in an element of its own, isolated from the direction of the text around it. */
export function data(className, text, limit) {
  return el('bdi', { className }, ...visible(text, limit));
}

const COUNT = new Intl.NumberFormat('en-US');

/** A count with separators of thousands. */
export function count(number) {
  return COUNT.format(number);
}

/** "1 record", "2 records". */
export function counted(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? '' : 's'}`;
}

/** A share as a percentage, which is 100 % or 0 % only if it is exactly that. */
export function percent(share) {
  if (share >= 1) return '100 %';
  if (share <= 0) return '0 %';
  const value = share * 100;
  if (value > 99) return '>99 %';
  if (value < 1) return '<1 %';
  return `${Math.round(value)} %`;
}
