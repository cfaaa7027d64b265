import type { TraceFilter } from './filter.js';
import { lowerBound } from './listing.js';
import type { TraceMove } from './model.js';

/** Where the lines of a log are after it has grown to `total` lines. */
export class LineMoves {
  /** Whether every line that is still there is where it was. */
  readonly isIdentity: boolean;
  private readonly firsts: readonly number[];

  /** `moves` are in the order of the lines before; `restarted`: it is not known where the lines are. */
  constructor(
    private readonly moves: readonly TraceMove[],
    private readonly total: number,
    private readonly restarted = false
  ) {
    this.firsts = moves.map(({ first }) => first);
    this.isIdentity = !restarted && moves.length <= 1 && (moves[0]?.to ?? 0) === (moves[0]?.first ?? 0);
  }

  /** Returns where a line is now; for a line that is gone, where the one before it is. */
  of(line: number): number {
    const move = this.moveOf(line);
    return this.restarted ? line : move ? move.to + Math.min(line - move.first, move.count - 1) : 0;
  }

  /** Returns where a line is now; null for a line that is gone, or if it is not known where the lines are. */
  find(line: number): number | null {
    const move = this.moveOf(line);
    return move && line < move.first + move.count ? move.to + line - move.first : null;
  }

  /** Returns the values of the lines, one for each, in the order that the lines have now; new lines get `value`. */
  gather(values: Uint32Array, value: number): Uint32Array {
    const gathered = new Uint32Array(this.total).fill(value);
    for (const { first, to, count } of this.moves) {
      gathered.set(values.subarray(first, first + Math.min(count, Math.max(this.total - to, 0))), Math.min(to, this.total));
    }
    return gathered;
  }

  /** Returns where sorted lines are now, in order, without those that are gone. */
  ofLines(lines: ArrayLike<number>): Uint32Array {
    return Uint32Array.from(Array.from(lines, line => this.find(line)).filter(line => line !== null)).sort();
  }

  /** Returns the lines that are new. */
  newLines(): number[] {
    const lines: number[] = [];
    let next = 0;
    for (const { to, count } of [...this.moves, { to: this.total, count: 0 }].sort((a, b) => a.to - b.to)) {
      for (; next < to; next++) {
        lines.push(next);
      }
      next = to + count;
    }
    return this.restarted ? [] : lines;
  }

  /** Returns another filter, which selects the same lines as before. */
  ofFilter(filter: TraceFilter): TraceFilter {
    const { first, last, folded } = filter;
    const of = (line: number | null) => (line === null ? null : this.of(line));
    return { ...filter, first: of(first), last: of(last), folded: folded.map(line => this.of(line)) };
  }

  private moveOf(line: number): TraceMove | undefined {
    return this.moves[lowerBound(this.firsts, line + 1) - 1];
  }
}
