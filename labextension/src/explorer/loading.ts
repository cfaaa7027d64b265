import type { Params, Result } from '../shared/channel.js';
import { readColumns, type Columns } from '../shared/columns.js';
import type { ColumnBlock } from '../shared/columns_model.js';
import { LogRows } from './log_rows.js';
import type { TraceView } from './model.js';
import { failureMessage, type LogRequests, type TraceMethod } from './requests.js';
import type { Action, ExplorerState } from './state.js';

/** Rows of the first request, which are drawn at once, and of each further one. */
const FIRST_ROWS = 2000;
const MORE_ROWS = 25_000;
/** Milliseconds between two searches while the kernel is indexing the log. */
const SEARCH_INTERVAL = 250;
/** Milliseconds after which what does not follow from the rows is loaded again while the log grows. */
const REFRESH_INTERVAL = 3000;
/** Most excerpts of one request. */
const MAX_EXCERPTS = 500;

export type RowsReply = Result<'trace.rows'>;

/** Returns what the request for the first rows says. */
export function firstRows({ explorer, version }: Pick<TraceView, 'explorer' | 'version'>): Params<'trace.rows'> {
  return { explorer, version, first: 0, count: FIRST_ROWS, chips: 0 };
}

export interface LoadingEvents {
  dispatch(action: Action): void;
  state(): ExplorerState;
  /** The kernel has other lines than the page: the page has to follow first. */
  onOutdated(): void;
}

/** Loads what the state of an explorer lacks: rows, what they can be filtered and sorted by, hits and excerpts. */
export class Loading {
  private isLoading = false;
  private searchTimer = 0;
  private refreshTimer = 0;
  private wanted: readonly number[] = [];
  private isLoadingExcerpts = false;

  constructor(
    private readonly requests: LogRequests,
    private readonly events: LoadingEvents
  ) {}

  private get state(): ExplorerState {
    return this.events.state();
  }

  dispose(): void {
    window.clearTimeout(this.searchTimer);
    window.clearTimeout(this.refreshTimer);
  }

  /** Loads all rows that are missing; `first` is the answer to the first request if it was sent already. */
  async load(first: RowsReply | null = null): Promise<void> {
    if (this.isLoading) {
      return;
    }
    this.isLoading = true;
    const isIncomplete = this.missing !== null;
    try {
      for (let reply = first, line = this.missing; line !== null; reply = null) {
        reply ??= await this.ask('trace.rows', { version: this.state.version, ...this.rowsFrom(line) });
        reply && this.take(reply);
        const next = this.missing;
        line = reply && next === line ? null : next; // the kernel does not send it
      }
    } catch (error) {
      this.events.dispatch({ type: 'notice', text: failureMessage(error) });
    } finally {
      this.isLoading = false;
    }
    isIncomplete && this.missing === null && (await this.refresh());
  }

  /** Returns the first rows of another version of the log. */
  async reloaded(version: number): Promise<LogRows> {
    const { total, first, block, buffers, chips } = await this.requests.ask('trace.rows', { ...this.rowsFrom(0), version, chips: 0 });
    const columns = columnsOf(block, buffers);
    return columns ? LogRows.empty(total).with(first, columns, chips, 0) : LogRows.empty(total);
  }

  /** The log has grown: searches again at once, and loads a moment later what else depends on all rows. */
  onGrowth(): void {
    void this.load();
    this.state.filter.text && void this.search();
    this.refreshTimer ||= window.setTimeout(() => {
      this.refreshTimer = 0;
      void this.refresh();
    }, REFRESH_INTERVAL);
  }

  /** Searches for the text of the filter, again and again until the whole log is searched. */
  async search(): Promise<void> {
    window.clearTimeout(this.searchTimer);
    const { text } = this.state.filter;
    if (text === '') {
      return;
    }
    try {
      const reply = await this.ask('trace.search', { version: this.state.version, text });
      const columns = reply && columnsOf(reply.block, reply.buffers);
      if (reply && columns) {
        this.events.dispatch({ type: 'found', found: { text, lines: Uint32Array.from(columns.number('line')), indexed: reply.indexed } });
      } else if (reply) {
        this.events.onOutdated();
      }
      if (text === this.state.filter.text && !(columns && reply?.indexed === 100)) {
        window.clearTimeout(this.searchTimer);
        this.searchTimer = window.setTimeout(() => void this.search(), SEARCH_INTERVAL);
      }
    } catch (error) {
      this.events.dispatch({ type: 'search failed', text, notice: failureMessage(error) });
    }
  }

  /** Loads the surroundings of hits in these lines. */
  async excerpts(lines: readonly number[]): Promise<void> {
    this.wanted = lines;
    if (this.isLoadingExcerpts) {
      return;
    }
    this.isLoadingExcerpts = true;
    try {
      for (let missing = this.missingExcerpts(); missing.length; missing = this.missingExcerpts()) {
        const { version, hits } = this.state;
        const { text } = hits!;
        const reply = await this.ask('trace.excerpts', { version, text, lines: missing });
        if (reply?.version !== version) {
          return; // they are requested again when the list has been drawn
        }
        this.events.dispatch({ type: 'excerpts', text, excerpts: missing.map((line, i) => [line, reply.excerpts[i] ?? []]) });
      }
    } catch (error) {
      failureMessage(error); // the requests have said so
    } finally {
      this.isLoadingExcerpts = false;
    }
  }

  /** Loads what the list can be filtered by that does not follow from the rows; returns whether that is known now. */
  async facets(): Promise<boolean> {
    try {
      const reply = await this.ask('trace.facets', {});
      if (reply?.version === this.state.version) {
        this.events.dispatch({ type: 'facets', facets: reply.facets });
        return true;
      }
    } catch (error) {
      failureMessage(error); // the requests have said so
    }
    return false;
  }

  private get missing(): number | null {
    return this.state.rows.firstMissing;
  }

  private missingExcerpts(): readonly number[] {
    const { hits, excerpts } = this.state;
    return hits ? this.wanted.filter(line => !excerpts.has(line)).slice(0, MAX_EXCERPTS) : [];
  }

  private rowsFrom(first: number) {
    return { first, count: first === 0 ? FIRST_ROWS : MORE_ROWS, chips: this.state.rows.chips.length };
  }

  private take({ block, buffers, first, total, chips, first_chip: known }: RowsReply): void {
    const columns = columnsOf(block, buffers);
    columns ? this.events.dispatch({ type: 'rows', first, total, columns, chips, known }) : this.events.onOutdated();
  }

  /** Calls a method; returns null if the page shows other lines when the answer comes. */
  private async ask<K extends TraceMethod>(method: K, params: Omit<Params<K>, 'explorer'>): Promise<Result<K> | null> {
    const { version, view } = this.state;
    const reply = await this.requests.ask(method, params);
    return version === this.state.version && view?.explorer === this.state.view?.explorer ? reply : null;
  }

  private async refresh(): Promise<void> {
    await this.facets();
    try {
      const reply = await this.ask('trace.tokens', { version: this.state.version });
      const columns = reply && columnsOf(reply.block, reply.buffers);
      columns && this.events.dispatch({ type: 'tokens', columns });
    } catch (error) {
      failureMessage(error); // the requests have said so
    }
  }
}

/** Returns the columns of a reply; null if it has none, because the page has another version of the log. */
export function columnsOf(block: ColumnBlock | null, buffers: readonly ArrayBuffer[]): Columns | null {
  return block && buffers[0] ? readColumns(block, buffers[0]) : null;
}
