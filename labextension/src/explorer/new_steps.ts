import type { TranslationBundle } from '@jupyterlab/translation';
import { element, linkButton, setText } from '../shared/element.js';
import { isFiltering, listsEverything } from './filter.js';
import type { LineMoves } from './line_moves.js';
import type { ListView } from './list.js';
import type { TraceFilter } from './model.js';
import { RequestFailed, type PageRequests } from './page_requests.js';

/** How often a row must have been visible, at intervals of half a second, to count as seen. */
const SEEN_AFTER = 4;
/** Largest number of stretches of new lines that are counted under a filter. */
const MAX_STRETCHES = 50;

/** The lines that came since the person looked: they are marked until they have been visible for a moment. */
export class NewSteps {
  /** Leads to the new steps; a status for screen readers. */
  readonly node = element('div', 'nbtools-trace-new-steps');
  private readonly button: HTMLButtonElement;
  /** How often each new line has been visible. */
  private lines = new Map<number, number>();
  /** How many of the new lines are listed at the end. */
  private listed = 0;
  private counting = 0;

  constructor(
    private readonly list: ListView,
    private readonly trans: TranslationBundle,
    private readonly requests: PageRequests,
    /** Returns the filter of the listed lines. */
    private readonly filter: () => TraceFilter
  ) {
    this.button = linkButton('', () => this.goToEnd());
    this.node.setAttribute('role', 'status');
    this.node.append(this.button);
    list.isNew = line => this.lines.has(line);
    this.draw();
  }

  clear(): void {
    this.lines.clear();
    this.listed = 0;
    this.draw();
  }

  /** Adds new lines, after the earlier ones have moved. */
  add(moves: LineMoves): void {
    const earlier = [...this.lines].map(([line, seen]) => [moves.find(line), seen] as const);
    this.lines = new Map(earlier.filter((entry): entry is [number, number] => entry[0] !== null));
    moves.newLines().forEach(line => this.lines.set(line, 0));
  }

  /** Counts the visible rows as looked at.  Called at each interval. */
  look(): void {
    const before = this.lines.size;
    for (const line of before ? this.list.visibleLines() : []) {
      const seen = (this.lines.get(line) ?? -1) + 1;
      if (seen > 0) {
        seen < SEEN_AFTER ? this.lines.set(line, seen) : this.lines.delete(line);
      }
    }
    this.listed -= before - this.lines.size;
    before > this.lines.size && this.list.redraw();
    this.draw();
  }

  /** Counts the new lines that the list contains. */
  async recount(): Promise<void> {
    const [filter, turn] = [this.filter(), ++this.counting];
    try {
      const listed = listsEverything(filter) ? this.lines.size : filter.order ? 0 : await this.countUnder(filter);
      if (turn === this.counting) {
        this.listed = listed;
        this.draw();
      }
    } catch (error) {
      if (!(error instanceof RequestFailed)) {
        throw error;
      }
    }
  }

  private async countUnder(filter: TraceFilter): Promise<number> {
    const stretches = stretchesOf([...this.lines.keys()].sort((a, b) => a - b)).slice(-MAX_STRETCHES);
    const counts = stretches.map(async ([first, end]) => {
      const [from, to] = await Promise.all([this.requests.place(filter, first), this.requests.place(filter, end)]);
      return to - from;
    });
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
  }

  private draw(): void {
    const { trans, button, listed } = this;
    button.hidden = listed <= 0 || this.list.node.hidden || this.list.isAtEnd;
    const text = isFiltering(this.filter())
      ? trans._n('%1 new step matches the filters', '%1 new steps match the filters', listed)
      : trans._n('%1 new step', '%1 new steps', listed);
    setText(button, button.hidden ? '' : text);
  }

  private goToEnd(): void {
    this.list.scrollToEnd();
    this.list.node.focus({ preventScroll: true });
    this.draw();
  }
}

/** Returns the stretches, first to end (exclusive), of sorted numbers. */
function stretchesOf(lines: readonly number[]): [number, number][] {
  const stretches: [number, number][] = [];
  for (const line of lines) {
    const last = stretches.at(-1);
    last?.[1] === line ? last[1]++ : stretches.push([line, line + 1]);
  }
  return stretches;
}
