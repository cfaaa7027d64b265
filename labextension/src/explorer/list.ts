import type { TranslationBundle } from '@jupyterlab/translation';
import { Table } from '../table/table.js';
import { RowView } from './row.js';
import type { ExplorerState } from './state.js';

/** The height of a row relative to its font size. */
const ROW_HEIGHT_RATIO = 28 / 13;

export interface ListEvents {
  /** A row was clicked. */
  select(index: number): void;
  /** The fold arrow of a line was clicked. */
  fold(line: number): void;
  /** Scrolling has ended. */
  settled(): void;
}

export type StepList = Table<RowView>;

/** Creates the list of steps. */
export function createList(trans: TranslationBundle, state: () => ExplorerState, events: ListEvents): StepList {
  let digits = 3;
  const list: StepList = new Table({
    role: 'listbox',
    className: 'nbtools-trace-list',
    label: trans.__('Steps'),
    multiselectable: true,
    rowHeight: node => Math.max(20, Math.round(parseFloat(getComputedStyle(node).fontSize) * ROW_HEIGHT_RATIO)),
    createRow: () => new RowView(trans),
    updateRow: (row, line) => {
      const { rows, shown, marks, excerpts, newLines } = state();
      const found = rows.row(line);
      const amount = shown.order ? rows.amountAt(line, shown.order) : undefined;
      row.update(found, shown.folded.includes(line), amount, excerpts.get(line), marks.get(line));
      row.node.classList.toggle('nbtools-trace-new', newLines.has(line));
      // The column of numbers never shrinks, so that the layout does not jump.
      digits = Math.max(digits, Math.min(found?.number.length ?? 0, 9));
      list.node.style.setProperty('--nbtools-digits', String(digits));
    },
    click: (index, event) => {
      const line = list.keyAt(index)!;
      if (state().rows.row(line)?.below && (event.target as Element).closest('.nbtools-trace-fold')) {
        events.fold(line);
      } else {
        list.setRange(event.shiftKey);
        events.select(index);
      }
    },
    settled: () => events.settled()
  });
  return list;
}

/** Returns the lines of the log that are fully in view. */
export function visibleLines(list: StepList): number[] {
  const [first, end] = list.rowsInView;
  return Array.from({ length: Math.max(end - first, 0) }, (_, i) => list.keyAt(first + i)!);
}
