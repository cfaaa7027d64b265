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

  private async run({ context, content, sessionContext }: NotebookPanel): Promise<void> {
    const announced = Number(localStorage.getItem(this.key(context.path)) ?? -Infinity);
    localStorage.removeItem(this.key(context.path));
    if (Date.now() - announced < PATIENCE) {
      await context.ready;
      await sessionContext.ready;
      await NotebookActions.runAll(content, sessionContext);
    }
  }

  private key(path: string): string {
    return `${KEY}${this.server} ${path}`;
  }
}
