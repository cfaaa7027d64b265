import { Notification } from '@jupyterlab/apputils';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { CommandRegistry } from '@lumino/commands';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { ICallCanceller } from '../shared/tokens.js';
import type { CardAction } from './model.js';

const TARGET = 'nbtools';
const LOAD = 'nbtools:load';

/** Sends a card's requests (cancel, undo, merge) to the kernel of its notebook.  Each request opens a comm of its own. */
export class CallCanceller implements ICallCanceller {
  constructor(
    private readonly notebooks: INotebookTracker,
    private readonly commands: CommandRegistry,
    private readonly trans: TranslationBundle
  ) {}

  cancel(card: HTMLElement, id: string): void {
    const panel = this.panelOf(card);
    panel && void this.send(panel, { cancel: id });
  }

  runAction(card: HTMLElement, { verb, id, magic }: CardAction): void {
    const panel = this.panelOf(card);
    const sent = panel ? this.send(panel, { [verb]: id }) : Promise.resolve(false);
    void sent.then(isReceived => isReceived || this.warn(panel, magic));
  }

  private panelOf(card: HTMLElement): NotebookPanel | undefined {
    return this.notebooks.find(notebook => notebook.node.contains(card));
  }

  /** Sends a request; returns false if there is no kernel, or nbtools is not loaded in it: the kernel then closes the comm. */
  private async send(panel: NotebookPanel, data: Record<string, string>): Promise<boolean> {
    const kernel = panel.sessionContext.session?.kernel;
    if (!kernel) {
      return false;
    }
    let isRefused = false;
    const comm = kernel.createComm(TARGET);
    comm.onClose = () => {
      isRefused = true;
    };
    const opened = comm.open();
    comm.send(data);
    const isReceived = await opened.done.then(
      () => !isRefused,
      () => false
    );
    comm.isDisposed || comm.close();
    comm.dispose();
    return isReceived;
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
