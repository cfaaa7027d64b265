import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { UUID } from '@lumino/coreutils';
import { changeCells } from './change_cells.js';
import { type CellLocation, readCells, isBusy, ChangeRefused, cellLocation } from './open_notebook.js';
import { tryParse } from '../shared/parse.js';
import { PageChannel, type TaskResult } from './page_channel.js';
import { cardsOf } from './card_methods.js';
import { type Kernel, onEvent } from './kernel_channel.js';
import { CELLS_EVENT, type NotebookAnswer, type NotebookRequest, parseNotebookRequest } from '../cards/model.js';

type Task = NotebookRequest['task'];

/** Runs one cell of a notebook, with its outputs in the notebook; resolves when it has finished. */
export type RunCell = (location: CellLocation) => Promise<unknown>;

/** Handles kernels' requests to list open notebooks and to read, change and run their cells. */
export class CellRequests {
  private readonly client = UUID.uuid4();
  private readonly peers: PageChannel;

  constructor(
    server: string,
    private readonly notebooks: INotebookTracker,
    private readonly run: RunCell
  ) {
    this.peers = new PageChannel(server, this.client, (kernel, task) => this.performTask(kernel, task));
    notebooks.forEach(panel => this.watch(panel));
    notebooks.widgetAdded.connect((_, panel) => this.watch(panel));
  }

  private watch(panel: NotebookPanel): void {
    const session = panel.sessionContext;
    this.listen(session.session?.kernel);
    session.kernelChanged.connect((_, { newValue }) => this.listen(newValue));
  }

  private listen(kernel: Kernel | null | undefined): void {
    kernel && onEvent(kernel, CELLS_EVENT, params => this.onRequest(kernel, tryParse(parseNotebookRequest, params)));
  }

  private onRequest(kernel: Kernel, request: NotebookRequest | null): void {
    if (request && ['', this.client].includes(request.client)) {
      void this.answer(kernel, request, this.performTask(kernel.id, request.task));
    } else if (request && this.peers.has(request.client)) {
      void this.answer(kernel, request, this.peers.request(request.client, kernel.id, request));
    }
  }

  private async answer(kernel: Kernel, request: NotebookRequest, pending: Promise<TaskResult | null>): Promise<void> {
    const others = request.task.type === 'list' ? await this.peers.listNotebooks(kernel.id, request) : [];
    const result = await pending;
    if (result === null || kernel.isDisposed) {
      return;
    }
    const notebooks = [...(result.notebooks ?? []), ...others];
    const answer = { problem: '', queued: false, cells: [], ...result, id: request.id, notebooks };
    await cardsOf(kernel)
      .request('cells.answer', answer)
      .catch(() => undefined); // the kernel has ended
  }

  private async performTask(kernel: string, task: Task): Promise<TaskResult | null> {
    try {
      return await this.executeTask(kernel, task);
    } catch (error) {
      if (error instanceof ChangeRefused) {
        return { problem: error.message };
      }
      throw error;
    }
  }

  /** Executes a task and returns its result; null if no answer is sent. */
  private async executeTask(kernel: string, task: Task): Promise<TaskResult | null> {
    if (task.type === 'list') {
      return { notebooks: this.listNotebooks(kernel) };
    }
    const panel = this.findPanel(task.path, kernel);
    switch (task.type) {
      case 'cells':
        break;
      case 'stop':
        await panel.sessionContext.session?.kernel?.interrupt();
        return null;
      case 'run':
        return this.runCell(kernel, panel, task.cell);
      default:
        changeCells(panel, task);
    }
    return { cells: readCells(panel) };
  }

  private async runCell(kernel: string, panel: NotebookPanel, id: string): Promise<TaskResult> {
    const target = panel.sessionContext.session?.kernel;
    if (!target) {
      throw new ChangeRefused('the notebook has no kernel. Start one, then call again.');
    }
    const running = this.run(cellLocation(panel, id));
    const queued = target.id === kernel;
    if (!queued) {
      await running;
    }
    return { queued, cells: readCells(panel) };
  }

  private listNotebooks(kernel: string): NotebookAnswer['notebooks'] {
    return this.loadedPanels().map(panel => ({
      client: this.client,
      path: panel.context.localPath,
      dirty: panel.context.model.dirty,
      own: panel.sessionContext.session?.kernel?.id === kernel,
      busy: isBusy(panel)
    }));
  }

  /** Returns the panels whose notebooks have loaded; a notebook that is open in several views has several. */
  private loadedPanels(): NotebookPanel[] {
    const panels: NotebookPanel[] = [];
    this.notebooks.forEach(panel => void (panel.context.isReady && panel.content.model && panels.push(panel)));
    return panels;
  }

  private findPanel(path: string, kernel: string): NotebookPanel {
    const panels = this.loadedPanels().filter(panel => panel.context.localPath === path);
    const panel = panels.find(candidate => candidate.sessionContext.session?.kernel?.id === kernel) ?? panels[0];
    if (!panel) {
      throw new ChangeRefused('the notebook was closed. Call again.');
    }
    return panel;
  }
}
