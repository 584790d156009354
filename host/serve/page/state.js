// What a link shares: the question and the view, in the fragment of the URL.

/** The state that a fragment has. Unknown keys are left out. */
export function read(fragment) {
  const parameters = new URLSearchParams(fragment.replace(/^#/, ''));
  const [from, to] = ['from', 'to'].map((name) => Date.parse(parameters.get(name)));
  const isRange = from < to;
  return {
    q: parameters.get('q') ?? '',
    inputs: parameters.getAll('in'),
    time: parameters.get('time'),
    from: isRange ? from : null,
    to: isRange ? to : null,
    columns: parameters.getAll('col'),
    sort: parameters.get('sort') ?? '',
    field: parameters.get('field'),
  };
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
