// Dialogs: the prompt for a token, the shortcuts, the malformed records.

import { el, icon, visible } from './dom.js';

const dialog = document.getElementById('dialog');

function open(title, ...children) {
  dialog.replaceChildren(
    el(
      'header',
      { className: 'panel-head' },
      el('h2', { id: 'dialog-title' }, title),
      el(
        'button',
        { type: 'button', className: 'quiet tiny', 'aria-label': 'Close', click: () => dialog.close() },
        icon('close'),
      ),
    ),
    ...children,
  );
  if (!dialog.open) dialog.showModal();
}

dialog.addEventListener('click', (event) => {
  // The element itself is hit only outside of its contents.
  if (event.target === dialog) dialog.close();
});
dialog.addEventListener('keydown', (event) => event.stopPropagation());

let asking = null;

dialog.addEventListener('close', () => {
  // Without a token there is nothing to show, so the prompt returns.
  if (asking && !dialog.open) dialog.showModal();
});

/** Prompts for the token, once for all requests that lack it. `refused`: the token that was not accepted. */
export function promptForToken(refused, keep, kept) {
  // A request that was sent before a new token was kept is simply sent again.
  if (kept() !== refused) return Promise.resolve();
  asking ??= new Promise((done) => {
    const wrong = 'The server does not accept this token.';
    const text = el(
      'p',
      { role: 'status' },
      refused
        ? wrong
        : 'The token is what the server was started with. This tab keeps it until it is closed.',
    );
    const input = el('input', {
      type: 'password',
      id: 'token',
      autocomplete: 'off',
      'aria-label': 'Token',
      spellcheck: false,
    });
    const given = () => {
      const token = input.value;
      input.value = '';
      // No header, and so no token, has other characters.
      if (!/^[!-~]+$/.test(token)) {
        text.textContent = wrong;
        return;
      }
      keep(token);
      asking = null;
      dialog.close();
      done();
    };
    input.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') given();
    });
    const button = el('button', { type: 'button', className: 'main', click: given }, 'Continue');
    open(
      'This server needs a token',
      el('div', { className: 'dialog-body' }, text, el('div', { className: 'token' }, input, button)),
    );
    input.focus();
  });
  return asking;
}

const SHORTCUTS = [
  [
    'Everywhere',
    [
      ['/', 'to the condition'],
      ['f', 'to the fields'],
      ['h', 'to the histogram'],
      ['r', 'to the records'],
      ['t', 'live tail'],
      ['p', 'pause the live tail'],
      ['c', 'copy the command line'],
      ['d', 'dark, light, or as the system'],
      ['?', 'these shortcuts'],
      ['Esc', 'close the details'],
    ],
  ],
  [
    'Condition',
    [
      ['Tab', 'take the completion'],
      ['↓ ↑', 'choose a completion'],
      ['Ctrl Space', 'show completions'],
      ['Enter', 'run SQL, keep in the history'],
      ['Shift Enter', 'a new line'],
    ],
  ],
  [
    'Fields and values',
    [
      ['→ ←', 'open and close'],
      ['*', 'open all beside'],
      ['Enter', 'only records with the value'],
      ['Shift Enter', 'all other records'],
      ['b', 'bars and statistics'],
      ['c', 'show as a column'],
    ],
  ],
  [
    'Histogram',
    [
      ['← →', 'from bucket to bucket'],
      ['Shift ← →', 'extend the range'],
      ['Enter', 'restrict the time'],
      ['Backspace', 'the whole range'],
    ],
  ],
  [
    'Records',
    [
      ['j k', 'next and previous'],
      ['Enter', 'open the record, filter by its value'],
      ['Shift Enter', 'exclude the value'],
      ['c', 'show the value as a column'],
    ],
  ],
];

/** Lists all shortcuts. */
export function showShortcuts() {
  open(
    'Shortcuts',
    el(
      'div',
      { className: 'dialog-body shortcuts' },
      ...SHORTCUTS.map(([title, keys]) =>
        el(
          'section',
          {},
          el('h3', {}, title),
          el(
            'dl',
            {},
            ...keys.map(([key, text]) =>
              el(
                'div',
                {},
                el('dt', {}, ...key.split(' ').flatMap((k) => [el('kbd', {}, k), ' '])),
                el('dd', {}, text),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}

/** Lists malformed records: lines of text, of which the first ones were fetched. */
export function showMalformed(lines, total) {
  open(
    'Malformed records',
    el(
      'div',
      { className: 'dialog-body' },
      el(
        'p',
        {},
        lines.length < total
          ? `The first ${lines.length} of ${total}. Results leave malformed records out.`
          : 'Results leave malformed records out.',
      ),
      el(
        'pre',
        { className: 'malformed scroll', tabIndex: 0 },
        ...lines.flatMap((line) => [...visible(line), '\n']),
      ),
    ),
  );
}
