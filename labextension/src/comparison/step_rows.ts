import { readColumns, type Columns } from '../shared/columns.js';
import type { Buffers } from '../shared/methods.js';
import type { ComparedRows } from './model.js';

/** Steps in common, one after the other, from which they are folded. */
const FOLDED = 4;

export type StepMark = '' | 'same' | 'alike' | 'failed';
const MARKS: readonly StepMark[] = ['', 'same', 'alike', 'failed'];

/** A step: its number in each run, empty where a run has no such step, and how it ended there. */
export interface StepRow {
  readonly name: string;
  readonly subject: string;
  readonly ending: string;
  readonly note: string;
  readonly numbers: readonly string[];
  readonly marks: readonly StepMark[];
  /** Calls of runs that are only similar to the one that the row names. */
  readonly others: readonly { readonly run: number; readonly text: string }[];
  /** The names of the runs that part here. */
  readonly parts: string;
  readonly differs: boolean;
}

/** The steps that are loaded, in stretches as the kernel sent them. */
export class StepRows {
  private readonly stretches: { readonly first: number; readonly block: Columns; readonly others: Columns }[] = [];
  /** How many steps are loaded, from the first one on, and how many there are. */
  loaded = 0;
  total = 0;
  /** For each loaded step: 1 if it is not the same in all runs. */
  private differs: number[] = [];
  /** The steps at which runs part. */
  readonly partings: number[] = [];

  constructor(private readonly runs: number) {}

  /** Adds the next stretch; returns false if it is damaged, or not the next one. */
  add({ first, total, block, others, buffers }: ComparedRows & Buffers): boolean {
    const [data, otherData] = buffers;
    const columns = data ? readColumns(block, data) : null;
    const otherColumns = otherData ? readColumns(others, otherData) : null;
    if (!columns || !otherColumns || first !== this.loaded) {
      return false;
    }
    this.stretches.push({ first, block: columns, others: otherColumns });
    this.differs.push(...columns.number('differs'));
    for (let i = 0; i < columns.count; i++) {
      columns.word('parts', i) && this.partings.push(first + i);
    }
    this.loaded += columns.count;
    this.total = total;
    return true;
  }

  /** Returns a step; null if it is not loaded. */
  row(step: number): StepRow | null {
    const stretch = this.stretches.filter(({ first }) => first <= step).at(-1);
    const i = step - (stretch?.first ?? 0);
    if (!stretch || i >= stretch.block.count) {
      return null;
    }
    const { block, others } = stretch;
    const runs = Array.from({ length: this.runs }, (_, run) => run);
    return {
      name: block.word('name', i),
      subject: block.text('subject', i),
      ending: block.word('ending', i),
      note: block.word('note', i),
      numbers: runs.map(run => block.text(`number${run}`, i)),
      marks: runs.map(run => MARKS[block.number(`mark${run}`)[i]!] ?? ''),
      others: [...block.list('others', i)]
        .filter(at => at < others.count)
        .map(at => ({ run: others.number('run')[at]!, text: others.text('text', at) })),
      parts: block.word('parts', i),
      differs: this.differs[step] === 1
    };
  }

  /** Lists the steps, where those that all runs have in common are one row, unless they are unfolded.  A fold has the key of its first step. */
  listed(unfolded: ReadonlySet<number>): ListedSteps {
    const keys: number[] = [];
    const folds = new Map<number, number>();
    for (let first = 0; first < this.loaded;) {
      const end = this.endOfStretch(first);
      const isFolded = !this.differs[first] && end - first >= FOLDED && !unfolded.has(first);
      isFolded && folds.set(first, end - first);
      for (let step = first; step < (isFolded ? first + 1 : end); step++) {
        keys.push(step);
      }
      first = end;
    }
    return { keys, folds };
  }

  /** Returns the step after those from `first` on that differ, or do not differ, as it does. */
  private endOfStretch(first: number): number {
    let end = first + 1;
    while (end < this.loaded && this.differs[end] === this.differs[first]) {
      end++;
    }
    return end;
  }
}

/** The keys of the rows, and how many steps each fold has, by its key. */
export interface ListedSteps {
  readonly keys: readonly number[];
  readonly folds: ReadonlyMap<number, number>;
}
