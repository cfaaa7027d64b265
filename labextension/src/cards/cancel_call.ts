import { Notification } from '@jupyterlab/apputils';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { CommandRegistry } from '@lumino/commands';
import type { TranslationBundle } from '@jupyterlab/translation';
import { cardsOf } from '../live_cells/card_methods.js';
import { RequestError } from '../shared/channel.js';
import type { ICallCanceller } from '../shared/tokens.js';
import type { CardAction } from './model.js';

const LOAD = 'nbtools:load';

/** Sends a card's requests (cancel, undo, merge) to the kernel of its notebook. */
export class CallCanceller implements ICallCanceller {
  constructor(
    private readonly notebooks: INotebookTracker,
    private readonly commands: CommandRegistry,
    private readonly trans: TranslationBundle
  ) {}

  cancel(card: HTMLElement, id: string): void {
    const kernel = this.panelOf(card)?.sessionContext.session?.kernel;
    kernel &&
      void cardsOf(kernel)
        .request('cards.cancel', { call: id })
        .catch(() => undefined); // nothing is running there
  }

  runAction(card: HTMLElement, { verb, id, magic }: CardAction): void {
    const panel = this.panelOf(card);
    const kernel = panel?.sessionContext.session?.kernel;
    const sent = kernel ? cardsOf(kernel).request('cards.act', { verb, id }) : Promise.reject(new RequestError('gone'));
    sent.catch((error: RequestError) => (error.message ? Notification.error(error.message) : this.warn(panel, magic)));
  }

  private panelOf(card: HTMLElement): NotebookPanel | undefined {
    return this.notebooks.find(notebook => notebook.node.contains(card));
  }

  /** Says that nothing was done, and offers to load nbtools. */
  private warn(panel: NotebookPanel | undefined, magic: string): void {
    const { commands, trans } = this;
    const message = trans.__('Nothing was done, because nbtools is not loaded in the kernel of this notebook. Load it and try again.');
    const load = (): void => {
      panel?.activate();
      void commands.execute(LOAD);
    };
    const actions = panel && commands.hasCommand(LOAD) ? [{ label: trans.__('Load nbtools'), caption: magic, callback: load }] : [];
    Notification.warning(message, { autoClose: false, actions });
  }
}
