import { Dialog, showDialog } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';
import { Widget } from '@lumino/widgets';
import { element, makeScrollable } from '../shared/element.js';

const PREFIX = 'nbtools:';

/** Shows the keys of nbtools: the current bindings of its commands, and the fixed keys of questions and of the explorer. */
export async function showKeySheet(commands: CommandRegistry, trans: TranslationBundle): Promise<void> {
  const title = trans.__('Keyboard shortcuts of nbtools');
  const body = new Widget({ node: element('div', 'nbtools-keys', ...sections(commands, trans)) });
  makeScrollable(body.node, title);
  await showDialog({ title, body, buttons: [Dialog.okButton({ label: trans.__('Close') })] });
}

type Row = readonly [keys: string, meaning: string];
type KeyRow = readonly [keys: readonly string[], meaning: string];

function sections(commands: CommandRegistry, trans: TranslationBundle): HTMLElement[] {
  const fixed = (title: string, rows: readonly Row[]) =>
    section(
      title,
      rows.map(([keys, meaning]) => [keys.split(' '), meaning] as const),
      trans
    );
  return [
    fixed(trans.__('In a question'), [
      ['y', trans.__('approve once')],
      ['a', trans.__('always allow')],
      ['f', trans.__('always allow in this folder')],
      ['m', trans.__('modify')],
      ['Esc', trans.__('deny')],
      ['⏎', trans.__('press the button that has the focus')]
    ]),
    fixed(trans.__('In the session log explorer'), [
      ['j k', trans.__('next and previous step')],
      ['← →', trans.__('fold and unfold')],
      ['⏎', trans.__('open the step')],
      ['r', trans.__('run the step again')],
      ['c', trans.__('copy')],
      ['/', trans.__('search')],
      ['e E', trans.__('next and previous failure')],
      ['n N', trans.__('next and previous hit of the search in the step')],
      ['n', trans.__('write a note, while there is no search')],
      ['p f d', trans.__('pass, fail, defer; in upper case for the whole session')],
      ['1 … 9', trans.__('apply a label of the code book, or take it back')],
      ['⇧↓ ⇧↑', trans.__('select a range')],
      ['u', trans.__('next step without a verdict')],
      ['z', trans.__('take back the latest verdict, label or note')],
      ['Esc', trans.__('leave')]
    ]),
    fixed(trans.__('In both, and in a card'), [['?', trans.__('this sheet')]]),
    section(trans.__('Commands (change them in Settings → Keyboard Shortcuts)'), commandRows(commands), trans)
  ];
}

/** Returns a row for each command without arguments; those with keys come first. */
function commandRows(commands: CommandRegistry): KeyRow[] {
  const ids = commands.listCommands().filter(id => id.startsWith(PREFIX) && commands.label(id) !== '');
  return ids
    .map(id => {
      const keys = commands.keyBindings
        .filter(binding => binding.command === id)
        .map(binding => CommandRegistry.formatKeystroke(binding.keys));
      return [keys, commands.label(id)] as const;
    })
    .sort(([a], [b]) => Number(a.length === 0) - Number(b.length === 0));
}

function section(title: string, rows: readonly KeyRow[], trans: TranslationBundle): HTMLElement {
  const list = element('dl', '');
  for (const [keys, meaning] of rows) {
    const signs = keys.length ? keys.map(key => element('kbd', '', key)) : [trans.__('no key')];
    list.append(element('dt', '', ...signs), element('dd', '', meaning));
  }
  return element('section', '', element('h3', '', title), list);
}

/** Parts of the page in which `?` shows the sheet, outside text fields. */
const PLACES = '.nbtools-asking, .nbtools-trace, .nbtools-card';

/** Calls `show` when a person presses `?` in a card, a question or an explorer.  Call it before these listen, which swallow other letters. */
export function onQuestionMark(show: () => void): void {
  window.addEventListener(
    'keydown',
    event => {
      const { target, key, ctrlKey, altKey, metaKey } = event;
      const isOurs = key === '?' && !ctrlKey && !altKey && !metaKey && target instanceof Element && target.closest(PLACES) !== null;
      if (isOurs && !target.closest('input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable=true]')) {
        event.preventDefault();
        event.stopImmediatePropagation();
        show();
      }
    },
    true
  );
}
