import type { TranslationBundle } from '@jupyterlab/translation';
import { element, setText } from '../shared/element.js';
import { Table, type TableRow } from '../table/table.js';
import type { ComparisonContext } from './context.js';
import type { ComparisonView } from './model.js';
import type { ListedSteps, StepRow, StepRows } from './step_rows.js';

const ROW_HEIGHT = 24;

/** The aligned steps: a row for each, a column for each run. */
export class StepsGrid {
  private readonly table: Table<StepRowView>;
  private readonly unfolded = new Set<number>();
  private listed: ListedSteps = { keys: [], folds: new Map() };
  /** The run with the cursor. */
  private run = 0;

  constructor(
    private readonly context: ComparisonContext,
    private readonly view: ComparisonView,
    private readonly steps: StepRows
  ) {
    const { trans } = context;
    this.table = new Table<StepRowView>({
      role: 'grid',
      className: 'nbtools-compare-steps',
      label: trans.__('Aligned steps'),
      head: this.createHead(),
      rowHeight: () => ROW_HEIGHT,
      createRow: () => new StepRowView(trans, view, steps),
      updateRow: (row, step, index) => {
        row.update(step, this.listed.folds.get(step) ?? 0, index === this.table.active ? this.run : null);
      },
      click: (index, event) => this.onClick(index, event.target as Element)
    });
    this.node.setAttribute('aria-colcount', String(view.runs.length + 1));
    this.node.style.setProperty('--nbtools-runs', String(view.runs.length));
    this.table.active = 0;
    this.update();
  }

  get node(): HTMLElement {
    return this.table.node;
  }

  dispose(): void {
    this.table.dispose();
  }

  focus(): void {
    this.node.focus();
  }

  /** Shows steps that were loaded, or unfolded. */
  update(): void {
    this.listed = this.steps.listed(this.unfolded);
    this.table.replace(this.listed.keys, { sorted: true });
    this.table.active ??= 0;
  }

  /** Handles a key; returns false if it means nothing here. */
  onKey(key: string): boolean {
    const runs: Record<string, number> = { ArrowRight: this.run + 1, l: this.run + 1, ArrowLeft: this.run - 1, h: this.run - 1 };
    if (key in runs) {
      this.run = Math.min(Math.max(runs[key]!, 0), this.view.runs.length - 1);
      this.table.activate(this.table.active, 1);
    } else if (key === 'p' || key === 'P') {
      this.goToParting(key === 'p');
    } else if (key === 'Enter' || key === ' ') {
      this.openRow(this.table.active ?? 0, this.run);
    } else {
      return this.table.onKey(key);
    }
    return true;
  }

  private goToParting(forward: boolean): void {
    const rows = this.steps.partings.flatMap(step => this.table.rowOf(step) ?? []);
    const active = this.table.active ?? 0;
    const row = forward ? rows.find(at => at > active) : rows.filter(at => at < active).at(-1);
    row === undefined || this.table.activate(row, 1);
  }

  /** Opens the explorer of a run at the row's step, by default of the first run that has it; a fold is opened. */
  private openRow(index: number, run: number | null): void {
    const step = this.table.keyAt(index);
    if (step === null) {
      return;
    }
    if (this.listed.folds.has(step)) {
      this.unfolded.add(step);
      this.update();
      return;
    }
    const { numbers = [] } = this.steps.row(step) ?? {};
    const at = run !== null && numbers[run] ? run : numbers.findIndex(Boolean);
    at >= 0 && this.context.open(at, numbers[at]!);
  }

  private onClick(index: number, target: Element): void {
    const cell = target.closest<HTMLElement>('[data-run]');
    const run = cell ? Number(cell.dataset['run']) : null;
    this.run = run ?? this.run;
    this.node.focus({ preventScroll: true });
    this.table.activate(index, 1);
    (cell === null || cell.dataset['number']) && this.openRow(index, run);
  }

  private createHead(): HTMLElement {
    const heads = this.view.runs.map(({ name, title }) => {
      const cell = element('span', '', name);
      cell.title = title;
      return cell;
    });
    const cells = [element('span', 'nbtools-compare-step', this.context.trans.__('Step')), ...heads];
    cells.forEach(cell => cell.setAttribute('role', 'columnheader'));
    return element('div', 'nbtools-compare-row nbtools-compare-head', ...cells);
  }
}

/** A row of the grid: the text of a step and a cell for each run, or a fold.  Its nodes are reused for other rows. */
class StepRowView implements TableRow {
  readonly node = element('div', 'nbtools-compare-row');
  activeCell: HTMLElement | null = null;
  private readonly text = element('span', 'nbtools-compare-step');
  private readonly cells: readonly HTMLElement[];
  private drawn = '';

  constructor(
    private readonly trans: TranslationBundle,
    private readonly view: ComparisonView,
    private readonly steps: StepRows
  ) {
    this.cells = view.runs.map((_, run) => {
      const cell = element('span');
      cell.dataset['run'] = String(run);
      return cell;
    });
    [this.text, ...this.cells].forEach(cell => cell.setAttribute('role', 'gridcell'));
    this.node.append(this.text, ...this.cells);
  }

  /** Shows a step, or a fold of steps; `activeRun` is the run with the cursor if the row has it. */
  update(step: number, folded: number, activeRun: number | null): void {
    const drawn = `${step} ${folded} ${activeRun}`;
    if (drawn === this.drawn) {
      return;
    }
    const row = folded ? null : this.steps.row(step);
    this.drawn = drawn;
    this.activeCell = activeRun === null ? null : ((row && this.cells[activeRun]) ?? this.text);
    this.cells.forEach(cell => (cell.hidden = row === null));
    this.node.classList.toggle('nbtools-compare-active', activeRun !== null);
    this.node.classList.toggle('nbtools-compare-fold', row === null);
    this.node.classList.toggle('nbtools-compare-parting', row !== null && row.parts !== '');
    this.node.classList.toggle('nbtools-compare-differs', row !== null && row.parts === '' && row.differs);
    if (row) {
      this.draw(row, activeRun);
    } else {
      setText(this.text, this.trans._n('▸ %1 step the same', '▸ %1 steps the same', folded));
      this.text.title = '';
    }
  }

  private draw(row: StepRow, activeRun: number | null): void {
    const { trans } = this;
    this.cells.forEach((cell, run) => {
      const mark = row.marks[run] ?? '';
      cell.className = mark && `nbtools-compare-${mark}`;
      setText(cell, row.numbers[run] || (mark ? '·' : ''));
      cell.dataset['number'] = row.numbers[run] ?? '';
      cell.title = this.titleOf(row, run);
      run === activeRun ? cell.setAttribute('aria-selected', 'true') : cell.removeAttribute('aria-selected');
    });
    const others = row.others.map(({ run, text }) => `≈ ${this.view.runs[run]?.name ?? ''}: ${text}`);
    const parts = row.parts ? trans.__('parts here: %1', row.parts) : '';
    const after = [parts, row.note, ...others].filter(Boolean).join(' · ');
    this.text.replaceChildren(
      element('b', '', row.name),
      ' ',
      element('bdi', '', row.subject),
      element('span', 'nbtools-compare-ending', row.ending && ` ${row.ending}`),
      element('span', 'nbtools-compare-after', after && ` ${after}`)
    );
    this.text.title = [`${row.name} ${row.subject}`, row.ending, parts, row.note, ...others].filter(Boolean).join('\n');
  }

  private titleOf({ numbers, marks }: StepRow, run: number): string {
    const { trans } = this;
    const name = this.view.runs[run]!.name;
    if (!marks[run]) {
      return trans.__('%1 has no such step', name);
    }
    const kinds = { same: '', alike: trans.__('similar'), failed: trans.__('failed'), '': '' };
    return [trans.__('%1: step %2', name, numbers[run] ?? ''), kinds[marks[run]!]].filter(Boolean).join(', ');
  }
}
