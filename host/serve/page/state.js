// What a link shares: the question and the view, in the fragment of the URL.

const EMPTY = { q: '', inputs: [], time: null, from: null, to: null, columns: [], sort: '', field: null };

/** The state that a fragment has. Unknown keys are left out. */
export function read(fragment) {
  const parameters = new URLSearchParams(fragment.replace(/^#/, ''));
  const from = Number(parameters.get('from') ?? NaN);
  const to = Number(parameters.get('to') ?? NaN);
  const ranged = parameters.has('from') && parameters.has('to');
  return {
    q: parameters.get('q') ?? '',
    inputs: parameters.getAll('in'),
    time: parameters.get('time'),
    from: ranged ? instantOf(parameters.get('from'), from) : null,
    to: ranged ? instantOf(parameters.get('to'), to) : null,
    columns: parameters.getAll('col'),
    sort: parameters.get('sort') ?? '',
    field: parameters.get('field'),
  };
}

function instantOf(text, number) {
  const ms = Number.isNaN(number) ? Date.parse(text) : number;
  return Number.isNaN(ms) ? null : ms;
}

/** The fragment of a state, without the parts that are as in an empty one. */
export function write(state) {
  const parameters = new URLSearchParams();
  if (state.q) parameters.set('q', state.q);
  for (const name of state.inputs) parameters.append('in', name);
  if (state.time !== null) parameters.set('time', state.time);
  if (state.from !== null) {
    parameters.set('from', new Date(state.from).toISOString());
    parameters.set('to', new Date(state.to).toISOString());
  }
  for (const path of state.columns) parameters.append('col', path);
  if (state.sort) parameters.set('sort', state.sort);
  if (state.field) parameters.set('field', state.field);
  const text = parameters.toString();
  return text ? `#${text}` : '';
}

/** The state of a page that was opened without a fragment. */
export function empty() {
  return structuredClone(EMPTY);
}
