// What the tests share: a server over files, a browser, and a page that notes everything that goes wrong.

import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after } from 'node:test';
import { chromium } from 'playwright-core';

const HERE = fileURLToPath(new URL('.', import.meta.url));
export const DATA = resolve(HERE, '../data');
export const PAGE = resolve(HERE, '../../host/serve/page');

const SERVER = process.env.WARPATH_SERVE;
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
if (!SERVER) throw new Error('WARPATH_SERVE names the server; tests/page.sh sets it');

const endings = [];
after(async () => {
  // In turn, the last that was made first: a page ends before its browser.
  for (const end of endings.reverse()) await end();
});

/** Runs `end` after all tests of the file. */
export function finally_(end) {
  endings.push(end);
}

/** A folder that is removed after the tests. */
export function folder() {
  const path = mkdtempSync(join(tmpdir(), 'warpath-page-'));
  finally_(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Writes lines to a file, and returns its path. */
export function file(path, lines) {
  writeFileSync(
    path,
    lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''),
  );
  return path;
}

/** Starts a server over `inputs`. Resolves when the server prints its address: `{ url, stop() }`. */
export async function serve(inputs, { port = 0, options = [], token } = {}) {
  const child = spawn(SERVER, [...inputs, '--listen', `127.0.0.1:${port}`, ...options], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...(token && { WARPATH_TOKEN: token }) },
  });
  const ended = new Promise((done) => child.once('exit', done));
  let output = '';
  const url = await new Promise((done, fail) => {
    const hear = (chunk) => {
      output += chunk;
      const found = /http:\/\/[\d.]+:\d+/.exec(output);
      if (found) done(found[0]);
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    child.once('error', fail);
    child.once('exit', (code) => fail(new Error(`the server ended with ${code}: ${output}`)));
  });
  const stop = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  finally_(stop);
  return { url, stop, port: Number(new URL(url).port), output: () => output };
}

let browser = null;

async function launch() {
  if (!browser) {
    // Containers have no user namespaces for Chromium's sandbox.
    browser = chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });
    finally_(async () => (await browser).close());
  }
  return browser;
}

/**
 * Opens the page of a server, and waits for its first results. `page.faults` has errors of scripts, violations
 * of the content policy, and scripts of records that ran.
 */
export async function open(url, { fragment = '', settled = true, ...options } = {}) {
  const context = await (await launch()).newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.faults = [];
  page.on('pageerror', (error) => page.faults.push(error.stack));
  page.on('dialog', (dialog) => {
    page.faults.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on('console', (message) => {
    // The browser writes such a line for each answer with an error; tests look at what the page shows.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      page.faults.push(message.text());
  });
  await page.exposeBinding('noteFault', (_, text) => page.faults.push(text));
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) =>
      window.noteFault(`policy: ${event.violatedDirective} ${event.blockedURI}`),
    );
  });
  await page.goto(`${url}/${fragment}`);
  if (settled) await idle(page);
  return page;
}

/** Waits until no request of the present question is under way. */
export async function idle(page) {
  await page.waitForSelector('main[aria-busy="false"]');
}

/** Replaces the text of the box, and waits for the results. */
export async function ask(page, text) {
  const answered = page.waitForResponse(
    (response) =>
      /\/(?:query|head)$/.test(new URL(response.url()).pathname) && response.request().method() === 'POST',
  );
  await page.fill('#condition', text);
  await answered;
  await idle(page);
}

/** The texts of all elements that a selector finds. */
export function texts(page, selector) {
  return page.$$eval(selector, (elements) => elements.map((element) => element.textContent));
}

/** The row of a field in the tree. */
export function field(page, path) {
  return page.locator(`.row-field[data-path=${JSON.stringify(path)}]`);
}

/** Opens a field, and waits for its values: `[[value, count]]`. */
export async function valuesOf(page, path) {
  await field(page, path).locator('.field-name').click();
  await page.locator('.row-value').first().waitFor();
  return page.$$eval('.row-value', (rows) =>
    rows.map((row) => [
      row.querySelector('.value').textContent,
      row.querySelector('.value-count').textContent,
    ]),
  );
}

/** What a request of the page is for: its path and its body. */
export function request(response) {
  return {
    path: new URL(response.url()).pathname,
    body: JSON.parse(response.request().postData() ?? 'null'),
  };
}

/** Starts a writable server over a new store with these records. */
export async function store(path, records) {
  const input = records.map((record) => `${JSON.stringify(record)}\n`).join('');
  execFileSync(process.env.WARPATH, ['store', 'add', '--quiet', path], { input });
  return serve([path], { options: ['--writable'] });
}

/** Appends records to the store of a server. Resolves when they are on the disk. */
export async function append(server, records) {
  const response = await fetch(`${server.url}/append`, {
    method: 'POST',
    body: records.map((record) => `${JSON.stringify(record)}\n`).join(''),
  });
  if (!response.ok) throw new Error(await response.text());
}
