import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Clipboard, Dialog, showDialog } from '@jupyterlab/apputils';
import { PathExt } from '@jupyterlab/coreutils';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';
import { Widget } from '@lumino/widgets';
import { partsOf } from '../cards/group_renderer.js';
import { MIME, parseCard, type Card } from '../cards/model.js';
import { element } from '../shared/element.js';
import { tryParse } from '../shared/parse.js';
import { locate } from '../shared/path.js';
import type { IFileOpener } from '../shared/tokens.js';
import { formsOf, problemOf } from './forms.js';
import { addCell } from './notebook_cells.js';

const CARD = '.nbtools-card';
/** Above the items about the cell. */
const RANK = -1;
const SELECTOR = `.jp-Cell ${CARD}`;

/** A card in a notebook: its node, what it shows, and its text. */
interface ChosenCard {
  readonly panel: NotebookPanel;
  readonly node: HTMLElement;
  readonly card: Card;
  readonly text: string;
}

/** Adds the context menu of cards: undo the call, allow such calls, copy, open the file.  From the palette they are about the active cell. */
export function addCardMenu(app: JupyterFrontEnd, notebooks: INotebookTracker, opener: IFileOpener | null, trans: TranslationBundle): void {
  const chosen = () => cardOf(app.contextMenuHitTest(node => node.matches(CARD)) as HTMLElement | undefined, notebooks);
  const add = (
    id: string,
    label: string,
    caption: string,
    isPossible: (card: ChosenCard) => boolean,
    run: (card: ChosenCard) => unknown
  ) => {
    app.commands.addCommand(id, {
      label,
      caption,
      describedBy: { args: { type: 'object', properties: {} } },
      isVisible: () => chosen() !== null,
      isEnabled: () => {
        const card = chosen();
        return card !== null && isPossible(card);
      },
      execute: () => {
        const card = chosen();
        return card && run(card);
      }
    });
    app.contextMenu.addItem({ command: id, selector: SELECTOR, rank: RANK });
  };
  add(
    'nbtools:undo-call',
    trans.__('Undo This Call'),
    trans.__('Undo the changes of the call of this card'),
    ({ node }) => undoButton(node) !== null,
    ({ node }) => undoButton(node)?.click()
  );
  add(
    'nbtools:allow-call',
    trans.__('Allow from Now On…'),
    trans.__('Show the rule that would allow such calls, and add it'),
    ({ panel }) => Boolean(panel.sessionContext.session?.kernel),
    chosenCard => allow(chosenCard, trans)
  );
  add(
    'nbtools:copy-card',
    trans.__('Copy as Markdown'),
    trans.__('Copy the text of this card as Markdown'),
    () => true,
    ({ card, text }) => Clipboard.copyToSystem(markdownOf(card, text))
  );
  add(
    'nbtools:open-card-file',
    trans.__('Open File'),
    trans.__('Open the file that this card is about'),
    chosenCard => opener !== null && fileOf(chosenCard) !== null,
    chosenCard => opener?.open(fileOf(chosenCard)!, chosenCard.card.places[0]?.line ?? null)
  );
  app.contextMenu.addItem({ type: 'separator', selector: SELECTOR, rank: RANK });
}

/** Returns the card with that node, or the first one of the active cell; null if there is none. */
function cardOf(hit: HTMLElement | undefined, notebooks: INotebookTracker): ChosenCard | null {
  const node = hit ?? notebooks.activeCell?.node.querySelector<HTMLElement>(CARD) ?? null;
  const panel = node && notebooks.find(({ node: notebook }) => notebook.contains(node));
  const cell = panel?.content.widgets.find(widget => widget.node.contains(node));
  const outputs = cell?.model.toJSON()['outputs'];
  const children = [...(cell?.node.querySelectorAll('.jp-OutputArea-child') ?? [])];
  const output = Array.isArray(outputs) ? outputs[children.findIndex(child => child.contains(node!))] : undefined;
  const shown = (output as { data?: ReadonlyPartialJSONObject } | undefined)?.data;
  const place = [...(node?.closest('.nbtools-group')?.children ?? [])].findIndex(part => part.contains(node!));
  const data = shown && (partsOf(shown)?.[place] ?? shown);
  const card = data && tryParse(parseCard, data[MIME]);
  const text = data?.['text/plain'];
  return card && node && panel ? { panel, node, card, text: Array.isArray(text) ? text.join('') : String(text ?? '') } : null;
}

/** The link that undoes the call; null if there is none, or it waits for the kernel. */
function undoButton(node: HTMLElement): HTMLButtonElement | null {
  return node.querySelector<HTMLButtonElement>('.nbtools-foot [data-key^="undo "][aria-disabled="false"]');
}

function fileOf({ panel, card }: ChosenCard): string | null {
  const place = card.places[0];
  return place ? locate(PathExt.dirname(panel.context.localPath), card.root, place.path) : null;
}

/** Returns a card's text as a block of code, in a fence that is longer than any in the text. */
export function markdownOf({ tool, subject, status }: Pick<Card, 'tool' | 'subject' | 'status'>, text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  const inline = (said: string) => said.replace(/\s+/g, ' ').replace(/[\\`*_[\]<>]/g, '\\$&');
  const heading = inline([tool, subject].filter(Boolean).join(' '));
  return `**${heading}** (${inline(status)})\n\n${fence}text\n${text.replace(/\n$/, '')}\n${fence}\n`;
}

/** Asks the kernel which rule would allow such calls, and adds the cell that sets it.  The kernel decides what can be allowed. */
async function allow({ panel, card }: ChosenCard, trans: TranslationBundle): Promise<void> {
  const forms = formsOf(panel.sessionContext.session!.kernel!);
  const answer = await forms.request('forms.rules', { call: card.id }).catch((error: unknown) => problemOf(error));
  if (typeof answer === 'string') {
    const body = answer || trans.__('nbtools is not loaded in this notebook.');
    await showDialog({ title: trans.__('Allow from now on'), body, buttons: [Dialog.okButton()] });
    return;
  }
  const body = new Widget({
    node: element(
      'div',
      'nbtools-allow',
      element('p', '', trans.__('This cell adds the rule, for this session:')),
      element('pre', 'nbtools-form-source', answer.source),
      element('p', '', answer.reason)
    )
  });
  const { button } = await showDialog({
    title: trans.__('Allow from now on'),
    body,
    buttons: [
      Dialog.cancelButton(),
      Dialog.okButton({ label: trans.__('Insert as cell') }),
      Dialog.warnButton({ label: trans.__('Allow') })
    ],
    defaultButton: 0
  });
  if (button.accept) {
    await addCell(panel, answer.source, button.displayType === 'warn');
  }
}
