import { NotebookActions, type NotebookPanel } from '@jupyterlab/notebook';
import { UUID } from '@lumino/coreutils';
import { changeCells } from '../live_cells/change_cells.js';

/** Inserts a code cell below the cell that contains `node`; see `insertCell`. */
export async function addCellBelow(panel: NotebookPanel, node: Node, source: string, run: boolean): Promise<void> {
  const indexAbove = panel.content.widgets.findIndex(cell => cell.node.contains(node));
  await insertCell(panel, indexAbove, source, run);
}

/**
 * Inserts a code cell below another one, scrolls to it, and runs it or places the cursor at its end.
 *
 * The insertion is one undo step.
 */
export async function insertCell(panel: NotebookPanel, indexAbove: number, source: string, run: boolean): Promise<void> {
  const { content, sessionContext } = panel;
  const after = content.widgets[indexAbove]?.model.id;
  if (after === undefined) {
    return;
  }
  changeCells(panel, { type: 'insert', path: '', cell: UUID.uuid4(), source, kind: 'code', after });
  const index = indexAbove + 1;
  const cell = content.widgets[index]!;
  content.deselectAll();
  content.activeCellIndex = index;
  content.mode = run ? 'command' : 'edit';
  const execution = run && NotebookActions.runCells(content, [cell], sessionContext).catch(() => false);
  await content.scrollToItem(index);
  if (!run) {
    await cell.ready;
    moveCursorToEnd(cell.editor);
  }
  await execution;
}

type Editor = NotebookPanel['content']['widgets'][number]['editor'];

function moveCursorToEnd(editor: Editor): void {
  if (editor) {
    editor.setCursorPosition(editor.getPositionAt(editor.model.sharedModel.getSource().length)!);
    editor.focus();
  }
}
