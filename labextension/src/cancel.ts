import type { INotebookTracker } from '@jupyterlab/notebook';
import type { ICallCanceller } from './tokens.js';

const TARGET = 'nbtools';

/** Tells the kernel of the notebook in which a card stands to cancel its call, over a comm of its own. */
export class CallCanceller implements ICallCanceller {
  constructor(private readonly notebooks: INotebookTracker) {}

  cancel(card: HTMLElement, id: string): void {
    const panel = this.notebooks.find(notebook => notebook.node.contains(card));
    const kernel = panel?.sessionContext.session?.kernel;
    if (!kernel) {
      return;
    }
    const comm = kernel.createComm(TARGET);
    comm.open();
    comm.send({ cancel: id });
    comm.close();
  }
}
