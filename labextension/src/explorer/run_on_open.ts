import { type INotebookTracker, NotebookActions, type NotebookPanel } from '@jupyterlab/notebook';

const KEY = 'nbtools-agent:run ';
/** Milliseconds in which an announced notebook must be opened to be run. */
const OPEN_TIMEOUT = 60_000;

/** Runs new notebooks when they are opened.  The announcement is in the local storage, because Notebook 7 opens notebooks in another page. */
export class RunOnOpen {
  constructor(private readonly server: string) {}

  announce(path: string): void {
    localStorage.setItem(this.key(path), String(Date.now()));
  }

  watch(notebooks: INotebookTracker): void {
    notebooks.forEach(panel => void this.run(panel));
    notebooks.widgetAdded.connect((_, panel) => void this.run(panel));
  }

  /** Runs a notebook if it was announced.  Notebook 7's file browser page creates a panel too, but never attaches it. */
  private async run(panel: NotebookPanel): Promise<void> {
    const { context, content, sessionContext } = panel;
    const key = this.key(context.path);
    if (Date.now() - Number(localStorage.getItem(key) ?? -Infinity) > OPEN_TIMEOUT) {
      return;
    }
    await context.ready;
    await sessionContext.ready;
    if (panel.isAttached && localStorage.getItem(key) !== null) {
      localStorage.removeItem(key);
      await NotebookActions.runAll(content, sessionContext);
    }
  }

  private key(path: string): string {
    return `${KEY}${this.server} ${path}`;
  }
}
