import type { NotebookPanel } from '@jupyterlab/notebook';
import type { OpenedCell } from '../cards/model.js';

/** A refused request; the message is part of the tool's error message. */
export class ChangeRefused extends Error {}

/** The position of a cell in an open notebook. */
export interface CellLocation {
  readonly panel: NotebookPanel;
  readonly index: number;
}

type SharedNotebook = NonNullable<NotebookPanel['content']['model']>['sharedModel'];
export type SharedCell = SharedNotebook['cells'][number];

export function sharedModel(panel: NotebookPanel): SharedNotebook {
  const model = panel.content.model;
  if (!model) {
    throw new ChangeRefused('the notebook was closed. Call again.');
  }
  return model.sharedModel;
}

/** Finds a cell by its id, or by its number from 1 as `#3`. */
export function cellLocation(panel: NotebookPanel, id: string): CellLocation {
  const cells = sharedModel(panel).cells;
  const index = /^#\d+$/.test(id) ? Number(id.slice(1)) - 1 : cells.findIndex(cell => cell.id === id);
  if (!cells[index]) {
    throw new ChangeRefused(`cell ${id} no longer exists. Nothing was changed. Read it again.`);
  }
  return { panel, index };
}

/** Returns the index at which to insert a cell after the cell `after`: 0 if it is empty, the number of cells if it is null. */
export function insertionIndex(panel: NotebookPanel, after: string | null): number {
  return after === null ? sharedModel(panel).cells.length : after === '' ? 0 : cellLocation(panel, after).index + 1;
}

/** Whether a cell is running or queued. */
export function isRunning(cell: SharedCell): boolean {
  return 'executionState' in cell && cell.executionState === 'running';
}

export function isBusy(panel: NotebookPanel): boolean {
  return sharedModel(panel).cells.some(isRunning);
}

export function readCells(panel: NotebookPanel): OpenedCell[] {
  return sharedModel(panel).cells.map(cell => ({
    id: cell.id,
    type: cell.cell_type,
    source: cell.getSource(),
    outputs: 'getOutputs' in cell ? JSON.stringify(cell.getOutputs()) : '',
    busy: isRunning(cell)
  }));
}
