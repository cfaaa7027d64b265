import type { TranslationBundle } from '@jupyterlab/translation';
import type { ComparisonView } from '../comparison/model.js';
import { ExplorerView } from '../explorer/explorer.js';
import type { ExplorerContext, SessionReview } from '../explorer/explorer_context.js';
import type { RowsReply } from '../explorer/loading.js';
import { COMPARISON_METHODS, SESSION_METHODS, TRACE_METHODS, type OpenedLogs, type TraceView } from '../explorer/model.js';
import { type Channel, Client, problemOf, RequestError, type Result } from '../shared/channel.js';
import { deferredPage } from '../shared/deferred_page.js';
import { element, linkButton } from '../shared/element.js';
import { PageStack, type StackPage } from '../shared/stack.js';
import type { ReviewOpening } from './context.js';
import type { SessionsView } from './model.js';
import { loadTotals } from './load_totals.js';
import type { SessionRow } from './session_rows.js';
import type { TotalsRequest } from './totals_page.js';
import { loadSessions } from './load_chunk.js';

const METHODS = {
  ...SESSION_METHODS,
  ...COMPARISON_METHODS,
  'trace.rows': TRACE_METHODS['trace.rows'],
  'trace.sessions': TRACE_METHODS['trace.sessions'],
  'trace.compare_with': TRACE_METHODS['trace.compare_with']
};

/** What the front end provides for pages of session logs. */
export interface PagesContext {
  readonly trans: TranslationBundle;
  /** What the person can do when the kernel has lost the page. */
  readonly recovery: string;
  /** Returns the connection with the kernel. */
  channel(): Channel;
  /** Returns the context of an explorer. */
  explorer(): ExplorerContext;
}

/** An explorer as a page. */
export interface ExplorerPage extends StackPage {
  readonly view: ExplorerView;
  /** Shows another version of the explorer, or, when the kernel has it under another id, the one that was opened again. */
  update(view: TraceView): void;
}

/** What the person can do with sessions instead of opening them above the page. */
export interface SessionActions {
  open?(session: SessionRow, text: string): void;
  compare?(sessions: readonly SessionRow[]): void;
  /** The least number of sessions that can be compared, if the person chooses some to compare with a log. */
  readonly least?: number;
}

/** What an explorer offers for comparing its log: by default, the comparison comes in place of the list of sessions. */
export interface PickerOptions {
  readonly compare?: (sessions: readonly SessionRow[]) => void;
  /** Lets the person choose files instead. */
  readonly files?: (() => void) | null;
}

/** Returns where an explorer begins that searches for a text: at its first hit. */
export function searchStep(text: string): string {
  return text && `search:${text}`;
}

/** The list of sessions, comparisons and explorers, which are opened from one another, on one stack. */
export class LogPages {
  readonly stack = new PageStack();
  readonly client: Client<keyof typeof METHODS>;

  constructor(readonly context: PagesContext) {
    this.client = new Client(() => context.channel(), METHODS);
  }

  dispose(): void {
    this.stack.dispose();
  }

  /** Creates the page of a list of sessions.  `first` is the kernel's first answer, if it was asked already. */
  sessions(
    view: SessionsView,
    first: Result<'sessions.rows'> | null = null,
    { open, compare, least }: SessionActions = {},
    links: readonly HTMLElement[] = []
  ): StackPage {
    const { trans } = this.context;
    const { explorer } = view;
    const openIds = (ids: string[], step = '') =>
      void this.open(trans.__('Opening…'), () => this.client.request('sessions.open', { explorer, ids, step }));
    const context = {
      trans,
      client: this.client,
      problemOf: (error: unknown) => this.problemOf(error),
      open: open ?? (({ id }: SessionRow, text: string) => openIds([id], searchStep(text))),
      totals: (request: TotalsRequest) => this.totals(request),
      compare: compare ?? ((sessions: readonly SessionRow[]) => openIds(sessions.map(({ id }) => id))),
      ...(least ? {} : { review: (opening: ReviewOpening) => void this.review(list, opening) }),
      least
    };
    const create = async () => {
      const { SessionsListView } = await loadSessions();
      return new SessionsListView(context, view, first);
    };
    const list = deferredPage(trans, trans.__('All sessions'), create, links);
    return list;
  }

  /** Opens the sums over sessions above their list. */
  private totals(request: TotalsRequest): void {
    const { trans } = this.context;
    const context = {
      trans,
      client: this.client,
      problemOf: (error: unknown) => this.problemOf(error),
      back: () => this.stack.back()
    };
    const create = async () => {
      const { TotalsPage } = await loadTotals();
      return new TotalsPage(context, request);
    };
    this.stack.push(deferredPage(trans, trans.__('Totals'), create));
  }

  /** Creates the page of a comparison.  `first` is the kernel's first answer, if it was asked already; `openTab` opens the log of a run in a tab. */
  comparison(view: ComparisonView, first: Result<'comparison.rows'> | null = null, openTab?: (run: number) => void): StackPage {
    const { trans } = this.context;
    const { explorer } = view;
    const open = (run: number, step: string) =>
      void this.open(trans.__('Opening…'), () => this.client.request('comparison.open_run', { explorer, run, step }));
    const context = { trans, client: this.client, problemOf: (error: unknown) => this.problemOf(error), open, openTab };
    const create = async () => {
      const { ComparisonPage } = await loadSessions();
      return new ComparisonPage(context, view, first);
    };
    return deferredPage(trans, trans.__('Comparison'), create);
  }

  /** Creates the page of an explorer.  `rows` is the kernel's answer to the request for its first rows, if it was asked already. */
  explorer(
    first: TraceView,
    options: PickerOptions = {},
    rows: RowsReply | null = null,
    review: SessionReview | null = null,
    links: readonly HTMLElement[] = []
  ): ExplorerPage {
    const { context } = this;
    let { explorer } = first;
    const compare = () => this.pick(explorer, options);
    const view = new ExplorerView({ ...context.explorer(), compare, review, ...(review ? { onContinue: undefined } : {}) });
    view.update(first, rows);
    const update = (other: TraceView) => {
      const isSame = other.explorer === explorer;
      explorer = other.explorer;
      isSame ? view.update(other) : view.reopen(other);
    };
    const title = context.trans.__('Back to the log');
    return { node: view.node, title, links, focus: () => view.focus(), dispose: () => view.dispose(), view, update };
  }

  /** Opens what the kernel answers above the shown page, unless the person has gone back in the meantime. */
  private async open(busyText: string, ask: () => Promise<OpenedLogs>): Promise<void> {
    const busy = this.message(busyText);
    this.stack.push(busy);
    await this.fill(busy, ask, ({ view, comparison, sessions }) => {
      if (view) {
        return this.explorer(view);
      }
      return comparison ? this.comparison(comparison) : this.sessions(sessions!);
    });
  }

  /** Opens a session of a review above the list, or in place of the one before it; shows the list if none is left. */
  private async review(list: StackPage, { ask, line, opened, changed, next }: ReviewOpening): Promise<void> {
    const { stack } = this;
    const busy = this.message(this.context.trans.__('Opening…'), [line]);
    stack.top === list ? stack.push(busy) : stack.replace(busy);
    const log = await ask().catch((error: unknown) => this.problemOf(error));
    if (stack.top !== busy) {
      return; // the person has gone back
    }
    if (typeof log === 'string') {
      stack.replace(this.message(log, [line]));
      return;
    }
    opened(log);
    if (log.view === null) {
      stack.back(list);
      return;
    }
    const page = this.explorer(log.view, {}, null, { changed, next: () => stack.top === page && next(log.session) }, [line]);
    stack.replace(page);
    page.focus();
  }

  /** Lets the person choose sessions to compare an explorer's log with. */
  private pick(explorer: string, { compare, files }: PickerOptions): void {
    const { trans } = this.context;
    const links = files ? [linkButton(trans.__('choose files…'), () => (this.stack.back(), files()))] : [];
    const compareHere = (sessions: readonly SessionRow[]) => {
      const busy = this.message(trans.__('Comparing…'));
      const ids = sessions.map(({ id }) => id);
      this.stack.replace(busy);
      const ask = () => this.client.request('trace.compare_with', { explorer, ids });
      void this.fill(busy, ask, ({ comparison }) => this.comparison(comparison!), true);
    };
    const choose = (sessions: readonly SessionRow[]) => {
      if (compare) {
        this.stack.back();
        compare(sessions);
      } else {
        compareHere(sessions);
      }
    };
    const busy = this.message(trans.__('Looking for sessions…'), links);
    const ask = () => this.client.request('trace.sessions', { explorer });
    const actions = { open: (session: SessionRow) => choose([session]), compare: choose, least: 1 };
    const create = ({ sessions }: OpenedLogs) => this.sessions(sessions!, null, actions, links);
    this.stack.push(busy);
    void this.fill(busy, ask, create, true);
  }

  /** Shows the page of what the kernel answers, or why there is none, in place of a busy one, if that is still shown. */
  private async fill(
    busy: StackPage,
    ask: () => Promise<OpenedLogs>,
    create: (opened: OpenedLogs) => StackPage,
    focus = false
  ): Promise<void> {
    const opened = await ask().catch((error: unknown) => this.problemOf(error));
    if (this.stack.top === busy) {
      this.stack.replace(typeof opened === 'string' ? this.message(opened, busy.links) : create(opened));
      focus && this.stack.top.focus();
    }
  }

  private message(text: string, links: readonly HTMLElement[] = []): StackPage {
    const node = element('p', 'nbtools-sessions-message', text);
    node.setAttribute('role', 'status');
    return { node, title: '', links, focus: () => undefined, dispose: () => undefined };
  }

  /** Returns why a request has no result; rethrows any other error. */
  private problemOf(error: unknown): string {
    if (!(error instanceof RequestError)) {
      throw error;
    }
    return problemOf(error, this.context.trans, this.context.recovery);
  }
}
