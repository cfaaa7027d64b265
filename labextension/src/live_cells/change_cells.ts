import type { NotebookPanel } from '@jupyterlab/notebook';
import { insertionIndex, ChangeRefused, isRunning, sharedModel, type SharedCell, cellLocation } from './open_notebook.js';
import type { DeleteTask, InsertTask, MoveTask, ReplaceTask } from '../cards/model.js';

type Change = ReplaceTask | InsertTask | DeleteTask | MoveTask;

interface UndoManager {
  stopCapturing(): void;
}

/** Changes the cells of an open notebook, as one undo step.  Throws `ChangeRefused` if the notebook is not in the expected state. */
export function changeCells(panel: NotebookPanel, change: Change): void {
  const shared = sharedModel(panel);
  splitUndoStep(shared);
  switch (change.type) {
    case 'insert':
      shared.insertCell(insertionIndex(panel, change.after), newCell(change.kind, change.cell, change.source));
      break;
    case 'replace':
      replace(panel, change);
      break;
    case 'delete':
      remove(panel, change);
      break;
    case 'move':
      move(panel, change);
  }
  splitUndoStep(shared);
}

function replace(panel: NotebookPanel, { cell: id, expected, source, kind }: ReplaceTask): void {
  const { index } = cellLocation(panel, id);
  const shared = sharedModel(panel);
  const cell = checkSource(shared.getCell(index), expected);
  if (kind !== null && kind !== cell.cell_type) {
    checkIdle(cell, 'converted to another type');
    const replacement = { ...newCell(kind, cell.id, source), metadata: cell.getMetadata() };
    shared.transact(() => {
      shared.deleteCell(index);
      shared.insertCell(index, replacement);
    });
    return;
  }
  splitUndoStep(cell);
  cell.setSource(source);
  splitUndoStep(cell);
  if (!isRunning(cell)) {
    const model = panel.content.model?.cells.get(index);
    model && 'clearExecution' in model && (model as unknown as { clearExecution(): void }).clearExecution();
  }
}

function remove(panel: NotebookPanel, { cell: id, expected }: DeleteTask): void {
  const { index } = cellLocation(panel, id);
  const shared = sharedModel(panel);
  checkIdle(checkSource(shared.getCell(index), expected), 'deleted');
  panel.content.model?.deletedCells.push(shared.getCell(index).id);
  shared.deleteCell(index);
}

function move(panel: NotebookPanel, { cell: id, after }: MoveTask): void {
  const { index } = cellLocation(panel, id);
  const target = insertionIndex(panel, after);
  sharedModel(panel).moveCell(index, target > index ? target - 1 : target);
}

function newCell(kind: InsertTask['kind'], id: string, source: string) {
  return { cell_type: kind, id, source, metadata: kind === 'code' ? { trusted: true } : {} };
}

function checkSource(cell: SharedCell, expected: string): SharedCell {
  if (cell.getSource() !== expected) {
    throw new ChangeRefused(`cell ${cell.id} has changed since it was read. Nothing was changed. Read it again.`);
  }
  return cell;
}

function checkIdle(cell: SharedCell, action: string): void {
  if (isRunning(cell)) {
    throw new ChangeRefused(`cell ${cell.id} is running and cannot be ${action}. Wait until it ends, or stop it.`);
  }
}

/** Starts a new undo step, so that text typed before or after the change is undone separately. */
function splitUndoStep(shared: object): void {
  if ('undoManager' in shared) {
    (shared.undoManager as UndoManager | null)?.stopCapturing();
  }
}
