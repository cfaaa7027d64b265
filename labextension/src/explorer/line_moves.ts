import type { TraceFilter, TraceFollow } from './model.js';

/** Where the lines of the log are after it has grown. */
export class LineMoves {
  /** Whether every line that is still there is where it was. */
  readonly isIdentity: boolean;

  constructor(private readonly reply: TraceFollow) {
    const { moves, restarted } = reply;
    this.isIdentity = !restarted && moves.length <= 1 && (moves[0]?.to ?? 0) === (moves[0]?.first ?? 0);
  }

  /** Returns where a line is now; for a line that is gone, where the one before it is. */
  of(line: number): number {
    const move = this.moveOf(line);
    return this.reply.restarted ? line : move ? move.to + Math.min(line - move.first, move.count - 1) : 0;
  }

  /** Returns where a line is now; null for a line that is gone, or if it is not known where the lines are. */
  find(line: number): number | null {
    const move = this.moveOf(line);
    return move && line < move.first + move.count ? move.to + line - move.first : null;
  }

  /** Returns the lines that are new. */
  newLines(): number[] {
    const { moves, restarted, view } = this.reply;
    const lines: number[] = [];
    let next = 0;
    for (const { to, count } of [...moves, { to: view?.page.total ?? 0, count: 0 }].sort((a, b) => a.to - b.to)) {
      for (; next < to; next++) {
        lines.push(next);
      }
      next = to + count;
    }
    return restarted ? [] : lines;
  }

  /** Returns another filter, which selects the same lines as before. */
  ofFilter(filter: TraceFilter): TraceFilter {
    const { first, last, folded } = filter;
    const of = (line: number | null) => (line === null ? null : this.of(line));
    return { ...filter, first: of(first), last: of(last), folded: folded.map(line => this.of(line)) };
  }

  private moveOf(line: number): TraceFollow['moves'][number] | undefined {
    return this.reply.moves.filter(({ first }) => first <= line).at(-1);
  }
}
