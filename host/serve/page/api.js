// The server's interface: requests that can be cancelled, answers line by line, its errors, and the token.

import { parse, plain, member } from './json.js';

const KEY = 'warpath-token';
let askForToken = null;
let reportReach = () => {};

/** Sets what shows the prompt for a token, a promise of its text, and what hears whether the server answers. */
export function connect({ token, reach }) {
  askForToken = token;
  reportReach = reach;
}

/** An error that the server sent, or the lack of its answer's end: message, help, and the bytes `begin` to `end` of `input` that are wrong. */
export class ServerError extends Error {
  constructor(error, status, notes = []) {
    super(error.message ?? `the server answered with status ${status}`);
    Object.assign(this, {
      input: error.input,
      begin: error.begin,
      end: error.end,
      help: error.help,
      status,
      notes,
    });
  }
}

/** The error of a request for which there is no server, or an answer that breaks off. */
export class Unreachable extends Error {}

async function send(path, init) {
  for (;;) {
    const headers = new Headers(init.headers);
    const token = sessionStorage.getItem(KEY);
    if (token) headers.set('Authorization', `Bearer ${token}`);
    let response;
    try {
      response = await fetch(path, { ...init, headers, cache: 'no-store' });
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      reportReach(false);
      throw new Unreachable('the server does not answer');
    }
    reportReach(true);
    if (response.status === 401) {
      // Several requests may have met the same lack; the first answer serves them all.
      await askForToken(token);
      continue;
    }
    if (!response.ok) throw await failure(response);
    return response;
  }
}

async function failure(response) {
  const text = await response.text();
  try {
    const body = plain(parse(text));
    return new ServerError(body.error, response.status, body.notes);
  } catch {
    return new ServerError({ message: text.trim() || undefined }, response.status);
  }
}

/** Keeps a token for this tab. */
export function keepToken(token) {
  sessionStorage.setItem(KEY, token);
}

export function keptToken() {
  return sessionStorage.getItem(KEY);
}

/** JSON of a GET, with numbers as `plain` gives them. */
export async function get(path, parameters, signal) {
  const query = new URLSearchParams();
  for (const [name, values] of Object.entries(parameters)) {
    for (const value of [values].flat()) if (value !== null && value !== undefined) query.append(name, value);
  }
  const text = query.toString();
  const response = await send(text ? `${path}?${text}` : path, { signal });
  return plain(parse(await body(response.text())));
}

/** What is read of a body. A body that breaks off is the end of the server, or of this question alone. */
async function body(promise) {
  try {
    return await promise;
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    // Throws if there is no server.
    await send('health', {});
    throw new ServerError({ message: 'the server broke off its answer' }, 200);
  }
}

function post(command, question, signal) {
  return send(command, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(question),
    signal,
  });
}

/** The answer of a command as a Blob, in the format that the question names. */
export async function file(command, question, signal) {
  const response = await post(command, question, signal);
  return body(response.blob());
}

/**
 * Runs a command and gives its lines to `each`, in groups as they arrive. Returns the notes of the run. A line
 * is text: JSON that nobody has parsed. Only the last line may be the server's. It is held back until the
 * answer ends, except from a question that follows, which shows each line when it comes.
 */
export async function lines(command, question, signal, each) {
  const { follow } = question;
  const response = await post(command, { ...question, notes: !follow }, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let held = null;
  for (;;) {
    const { value, done } = await body(reader.read());
    if (done) break;
    const parts = (rest + value).split('\n');
    rest = parts.pop();
    const whole = parts.filter((line) => line.trim());
    if (!whole.length) continue;
    if (follow) {
      each(whole);
      held = whole.at(-1);
      continue;
    }
    const last = whole.pop();
    const group = held === null ? whole : [held, ...whole];
    held = last;
    if (group.length) each(group);
  }
  if (rest.trim()) {
    if (held !== null && !follow) each([held]);
    held = rest;
  }
  if (held === null) return [];
  if (/^\s*\{\s*"\$(?:notes|error)"/.test(held)) {
    const word = parse(held);
    const error = member(word, '$error');
    if (error) throw new ServerError(plain(error), 200);
    return plain(member(word, '$notes'));
  }
  if (!follow || rest.trim()) each([held]);
  return [];
}

/** The lines of a short answer together. */
export async function all(command, question, signal) {
  const found = [];
  const notes = await lines(command, question, signal, (group) => found.push(...group));
  return { lines: found, notes };
}
