import { type INotebookTracker, NotebookActions, type NotebookPanel } from '@jupyterlab/notebook';

const KEY = 'nbtools-agent:run ';
/** Milliseconds in which a notebook that was made to be run must have been opened. */
const PATIENCE = 60_000;

/** Notebooks that are made to be run once opened, by whichever page opens them: in Notebook 7 it is another one. */
export class Arrivals {
  constructor(private readonly server: string) {}

  announce(path: string): void {
    localStorage.setItem(this.key(path), String(Date.now()));
  }

  watch(notebooks: INotebookTracker): void {
    notebooks.forEach(panel => void this.run(panel));
    notebooks.widgetAdded.connect((_, panel) => void this.run(panel));
  }

  /** Notebook 7's page of files makes a panel too, which it never shows. */
  private async run(panel: NotebookPanel): Promise<void> {
    const { context, content, sessionContext } = panel;
    const key = this.key(context.path);
    if (Date.now() - Number(localStorage.getItem(key) ?? -Infinity) > PATIENCE) {
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
