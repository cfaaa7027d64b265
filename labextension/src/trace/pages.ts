import type { TraceLine, TracePage } from './wire.js';

export const PAGE = 200;
const IN_FLIGHT = 2;
/** Lines above and below those in view that are fetched too. */
const AROUND = 100;
/** Pages that are kept; the furthest from the view go first. */
const KEPT = 60;

export type Fetch = (first: number, count: number) => Promise<TracePage>;

/** The lines under one filter, as far as they have come.  What has scrolled past before its turn is not asked for. */
export class Pages {
  private readonly loaded = new Map<number, readonly TraceLine[]>();
  private readonly stale = new Set<number>();
  private readonly pending = new Map<number, Promise<void>>();
  private middle = 0;
  private wanted: readonly number[] = [];
  private closed = false;
  total: number;
  indexed: number;

  constructor(
    first: TracePage,
    private readonly fetch: Fetch,
    private readonly changed: () => void
  ) {
    this.total = first.total;
    this.indexed = first.indexed;
    this.keep(first);
    if (first.lines.length < Math.min(PAGE, first.total)) {
      this.stale.add(0);
    }
  }

  /** Null where the line has not come yet. */
  line(index: number): TraceLine | null {
    return this.loaded.get(Math.floor(index / PAGE))?.[index % PAGE] ?? null;
  }

  /** The row under which one is nested; null where it is not or the way there has not come yet. */
  parent(index: number): number | null {
    const depth = this.line(index)?.depth ?? 0;
    for (let above = index - 1; above >= 0; above--) {
      const line = this.line(above);
      if (line === null || line.depth < depth) {
        return line && above;
      }
    }
    return null;
  }

  /** Says what is in view; the lines there and around come as they can. */
  want(first: number, last: number): void {
    this.middle = Math.floor((first + last) / 2 / PAGE);
    this.wanted = pagesAround(first, last, this.total);
    this.ask();
  }

  /** The line, once it is here; null where there is no such line. */
  async get(index: number): Promise<TraceLine | null> {
    const page = Math.floor(index / PAGE);
    if (this.line(index) === null && index >= 0 && index < this.total) {
      await (this.pending.get(page) ?? this.load(page));
    }
    return this.line(index);
  }

  /** Asks again for what is in view: the log was not searched to its end.  What is drawn stays until the answer. */
  refresh(): void {
    this.loaded.forEach((_, page) => this.stale.add(page));
    this.ask();
  }

  /** Answers that are still to come are not heard any more. */
  close(): void {
    this.closed = true;
  }

  private ask(): void {
    if (this.closed) {
      return;
    }
    const missing = this.wanted.filter(page => !this.pending.has(page) && (!this.loaded.has(page) || this.stale.has(page)));
    for (const page of missing.slice(0, Math.max(IN_FLIGHT - this.pending.size, 0))) {
      // A failure is the desk's to tell; the page stays unloaded and is asked for again with the next scroll.
      void this.load(page).then(() => this.ask(), () => undefined);
    }
  }

  private load(page: number): Promise<void> {
    const answer = this.fetch(page * PAGE, PAGE)
      .then(lines => this.take(lines))
      .finally(() => this.pending.delete(page));
    this.pending.set(page, answer);
    return answer;
  }

  private take(page: TracePage): void {
    if (this.closed) {
      return;
    }
    this.total = page.total;
    this.indexed = page.indexed;
    this.keep(page);
    this.changed();
  }

  private keep(page: TracePage): void {
    const number = Math.floor(page.first / PAGE);
    this.loaded.set(number, page.lines);
    this.stale.delete(number);
    if (this.loaded.size > KEPT) {
      const distance = (one: number) => Math.abs(one - this.middle);
      const furthest = [...this.loaded.keys()].reduce((a, b) => (distance(b) > distance(a) ? b : a));
      this.loaded.delete(furthest);
    }
  }
}

/** Numbers of the pages around lines `first` … `last`, those in view before those near it. */
export function pagesAround(first: number, last: number, total: number): number[] {
  const pageOf = (index: number) => Math.floor(Math.min(Math.max(index, 0), Math.max(total - 1, 0)) / PAGE);
  const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
  return [...new Set([...range(pageOf(first), pageOf(last)), ...range(pageOf(first - AROUND), pageOf(last + AROUND))])];
}
