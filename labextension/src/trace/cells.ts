import { NotebookActions, type NotebookPanel } from '@jupyterlab/notebook';
import { UUID } from '@lumino/coreutils';
import { changeCells } from '../change.js';

/**
 * Puts a new code cell below the one that `node` stands in, runs it or leaves the cursor at its end, and brings it into view.
 *
 * Undo takes it back as one step.
 */
export async function addCellBelow(panel: NotebookPanel, node: Node, source: string, run: boolean): Promise<void> {
  const { content, sessionContext } = panel;
  const above = content.widgets.findIndex(cell => cell.node.contains(node));
  const after = content.widgets[above]?.model.id;
  if (after === undefined) {
    return;
  }
  changeCells(panel, { type: 'insert', path: '', cell: UUID.uuid4(), source, kind: 'code', after });
  const index = above + 1;
  const cell = content.widgets[index]!;
  content.deselectAll();
  content.activeCellIndex = index;
  content.mode = run ? 'command' : 'edit';
  const ran = run && NotebookActions.runCells(content, [cell], sessionContext).catch(() => false);
  await content.scrollToItem(index);
  if (!run) {
    await cell.ready;
    toEnd(cell.editor);
  }
  await ran;
}

type Editor = NotebookPanel['content']['widgets'][number]['editor'];

function toEnd(editor: Editor): void {
  if (editor) {
    editor.setCursorPosition(editor.getPositionAt(editor.model.sharedModel.getSource().length)!);
    editor.focus();
  }
}
