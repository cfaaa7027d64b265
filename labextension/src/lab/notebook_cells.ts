import { type INotebookTracker, NotebookActions, type NotebookPanel } from '@jupyterlab/notebook';

/** What loads nbtools in a Python kernel. */
export const LOAD = '%load_ext nbtools';

/** Returns the current notebook if it has a kernel. */
export function notebookWithKernel(notebooks: INotebookTracker | null): NotebookPanel | null {
  const panel = notebooks?.currentWidget ?? null;
  return panel?.sessionContext.session?.kernel ? panel : null;
}

/** Inserts a code cell below the active one and runs it, or places the cursor in it. */
export async function addCell(panel: NotebookPanel, source: string, run: boolean): Promise<void> {
  const { content, sessionContext } = panel;
  NotebookActions.insertBelow(content);
  content.activeCell?.model.sharedModel.setSource(source);
  content.deselectAll();
  content.mode = run ? 'command' : 'edit';
  await content.scrollToItem(content.activeCellIndex);
  if (run && content.activeCell) {
    await NotebookActions.runCells(content, [content.activeCell], sessionContext).catch(() => false);
  }
}

/** Loads nbtools: runs the cell that does nothing else, which is made at the top of the notebook where it has none. */
export async function loadInNotebook(panel: NotebookPanel): Promise<void> {
  const { content, sessionContext } = panel;
  const isLoading = (source: string) => /^\s*%(re)?load_ext nbtools\s*$/.test(source);
  const existing = content.widgets.findIndex(({ model }) => model.type === 'code' && isLoading(model.sharedModel.getSource()));
  content.activeCellIndex = Math.max(0, existing);
  if (existing < 0) {
    NotebookActions.insertAbove(content);
    content.activeCell?.model.sharedModel.setSource(LOAD);
  }
  content.mode = 'command';
  if (content.activeCell) {
    await NotebookActions.runCells(content, [content.activeCell], sessionContext).catch(() => false);
  }
}
