import type { INotebookTracker } from '@jupyterlab/notebook';
import type { ICallCanceller } from '../shared/tokens.js';
import type { CardAction } from './model.js';

const TARGET = 'nbtools';

/** Sends a card's requests (cancel, undo, merge) to the kernel of its notebook.  Each request opens a comm of its own. */
export class CallCanceller implements ICallCanceller {
  constructor(private readonly notebooks: INotebookTracker) {}

  cancel(card: HTMLElement, id: string): void {
    this.send(card, { cancel: id });
  }

  runAction(card: HTMLElement, { verb, id }: CardAction): void {
    this.send(card, { [verb]: id });
  }

  private send(card: HTMLElement, data: Record<string, string>): void {
    const panel = this.notebooks.find(notebook => notebook.node.contains(card));
    const kernel = panel?.sessionContext.session?.kernel;
    if (!kernel) {
      return;
    }
    const comm = kernel.createComm(TARGET);
    comm.open();
    comm.send(data);
    comm.close();
    comm.dispose();
  }
}
