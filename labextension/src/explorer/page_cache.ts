import type { TraceFacet, TraceLine, TracePage } from './model.js';

export const PAGE_SIZE = 200;
const MAX_REQUESTS = 2;
/** Number of lines above and below the visible ones that are fetched too. */
const PREFETCH = 100;
/** Maximum number of cached pages; those furthest from the visible ones are evicted first. */
const MAX_PAGES = 60;

export type Fetch = (first: number, count: number) => Promise<TracePage>;

/** The cached pages of the lines that match a filter.  Only pages near the currently visible lines are fetched. */
export class PageCache {
  private readonly loaded = new Map<number, readonly TraceLine[]>();
  private readonly stale = new Set<number>();
  /** Pages that were loaded before the whole log was indexed. */
  private readonly provisional = new Set<number>();
  private readonly pending = new Map<number, Promise<void>>();
  private viewedPage = 0;
  private neededPages: readonly number[] = [];
  private closed = false;
  total: number;
  indexed: number;
  /** What the list can be filtered by, with counts under the filter. */
  facets: readonly TraceFacet[] = [];

  constructor(
    first: TracePage,
    private readonly fetch: Fetch,
    private readonly onChange: () => void
  ) {
    this.total = first.total;
    this.indexed = first.indexed;
    this.store(first);
    if (first.lines.length < Math.min(PAGE_SIZE, first.total)) {
      this.stale.add(0);
    }
  }

  /** Returns a line; null if it has not been loaded. */
  line(index: number): TraceLine | null {
    return this.loaded.get(Math.floor(index / PAGE_SIZE))?.[index % PAGE_SIZE] ?? null;
  }

  /** Returns the row of a line's parent; null if it has none or if the lines in between have not been loaded. */
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

  /** Sets the visible lines, and fetches those that are missing there and nearby. */
  setVisible(first: number, last: number): void {
    this.viewedPage = Math.floor((first + last) / 2 / PAGE_SIZE);
    this.neededPages = pagesAround(first, last, this.total);
    this.fetchMissing();
  }

  /** Loads and returns a line; null if it does not exist. */
  async get(index: number): Promise<TraceLine | null> {
    const page = Math.floor(index / PAGE_SIZE);
    if (this.line(index) === null && index >= 0 && index < this.total) {
      await (this.pending.get(page) ?? this.load(page));
    }
    return this.line(index);
  }

  /** Fetches the visible pages again, as more lines may have been indexed.  The cached lines stay until the answer. */
  refresh(): void {
    this.loaded.forEach((_, page) => this.stale.add(page));
    this.fetchMissing();
  }

  /** Fetches what the list can be filtered by again, with the first page. */
  refreshFacets(): void {
    this.closed || void this.load(0).catch(() => undefined); // `PageRequests` reports failures
  }

  /** Ignores all answers that arrive from now on. */
  close(): void {
    this.closed = true;
  }

  private fetchMissing(): void {
    if (this.closed) {
      return;
    }
    const missing = this.neededPages.filter(page => !this.pending.has(page) && (!this.loaded.has(page) || this.stale.has(page)));
    for (const page of missing.slice(0, Math.max(MAX_REQUESTS - this.pending.size, 0))) {
      // `PageRequests` reports failures; the page stays missing and is requested again on the next scroll.
      void this.load(page).then(
        () => this.fetchMissing(),
        () => undefined
      );
    }
  }

  private load(page: number): Promise<void> {
    const loading = this.fetch(page * PAGE_SIZE, PAGE_SIZE)
      .then(lines => this.receive(lines))
      .finally(() => this.pending.delete(page));
    this.pending.set(page, loading);
    return loading;
  }

  private receive(page: TracePage): void {
    if (this.closed) {
      return;
    }
    this.total = page.total;
    this.indexed = page.indexed;
    this.store(page);
    if (page.indexed === 100 && this.provisional.size) {
      this.provisional.forEach(number => this.stale.add(number));
      this.provisional.clear();
      this.stale.has(0) && !this.pending.has(0) && this.refreshFacets();
      this.fetchMissing();
    }
    this.onChange();
  }

  private store(page: TracePage): void {
    const number = Math.floor(page.first / PAGE_SIZE);
    this.facets = page.first === 0 ? page.facets : this.facets;
    this.loaded.set(number, page.lines);
    this.stale.delete(number);
    page.indexed < 100 ? this.provisional.add(number) : this.provisional.delete(number);
    if (this.loaded.size > MAX_PAGES) {
      const distance = (candidate: number) => Math.abs(candidate - this.viewedPage);
      const furthest = [...this.loaded.keys()].reduce((a, b) => (distance(b) > distance(a) ? b : a));
      this.loaded.delete(furthest);
    }
  }
}

/** Returns the numbers of the pages around lines `first` … `last`: visible pages first, then those nearby. */
export function pagesAround(first: number, last: number, total: number): number[] {
  const pageOf = (index: number) => Math.floor(Math.min(Math.max(index, 0), Math.max(total - 1, 0)) / PAGE_SIZE);
  const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
  return [...new Set([...range(pageOf(first), pageOf(last)), ...range(pageOf(first - PREFETCH), pageOf(last + PREFETCH))])];
}
