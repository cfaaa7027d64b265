import { element, linkButton, setText } from '../shared/element.js';
import type { Result } from '../shared/channel.js';
import { Table } from '../table/table.js';
import type { SessionsContext } from './context.js';
import { SessionFilters } from './filter_bar.js';
import { cellOf, type ColumnDefinition, COLUMNS, columnStyle, type ListFilter, type ListState } from './columns.js';
import { AddFolderForm } from './add_folder.js';
import { type ListedSessions, listedSessions } from './listed.js';
import { LeftOutView } from './left_out.js';
import type { AddedFolder, SessionRows, SessionsView } from './model.js';
import { ReviewQueueView } from './review_queue.js';
import { SessionRowView } from './row.js';
import { type SessionRow, SessionStore } from './session_rows.js';
import { SessionSearch } from './session_search.js';
import { totalsOf, totalsText } from './totals_line.js';

/** Milliseconds between looks at the agents' folders while logs are being read, and otherwise. */
const READING_INTERVAL = 1000;
const INTERVAL = 5000;
const MOST_COMPARED = 20;
const ROW_HEIGHT = 28;
/** Rows that are in view at least, however much stands around them. */
const FEW = 3;
let listCount = 0;

/** The list of all sessions on a machine: search, filters, and a table.  It must be inside `.nbtools-rendered`. */
export class SessionsListView {
  readonly node = element('article', 'nbtools-sessions');
  private readonly store = new SessionStore();
  private readonly filters: SessionFilters;
  private readonly heads = new Map<string, HTMLElement>();
  private readonly style = element('style');
  private readonly scope = `nbtools-sessions-list-${++listCount}`;
  private readonly table: Table<SessionRowView>;
  private readonly foot = element('div', 'nbtools-sessions-foot');
  private readonly compareButton: HTMLButtonElement;
  /** Null where the person chooses sessions for something else. */
  private readonly queue: ReviewQueueView | null;
  private readonly status = element('span');
  private readonly leftOut: LeftOutView;
  private readonly clearButton: HTMLButtonElement;
  private readonly addFolderForm: AddFolderForm;
  private readonly totals = element('span');
  private readonly message = element('div', 'nbtools-sessions-message');
  private readonly selected = new Set<number>();
  private filter: ListFilter;
  private listed: ListedSessions = { keys: [], agents: [], projects: [], repositories: [], unread: 0 };
  /** The kernel's last answer; null before the first. */
  private facts: SessionRows | null = null;
  /** Why the last request has failed. */
  private problem = '';
  /** Milliseconds that the kernel's clock is ahead of the page's. */
  private clockOffset = 0;
  private readonly search: SessionSearch;
  /** Whether the first part of an answer is awaited. */
  private isSearching = false;
  private isReviewed = false;
  private timer = 0;
  private disposed = false;
  private readonly keyListener = (event: KeyboardEvent) => this.onKey(event);

  /** `first` is the kernel's first answer, if it was asked already. */
  constructor(
    private readonly context: SessionsContext,
    private readonly view: SessionsView,
    first: Result<'sessions.rows'> | null = null
  ) {
    const { trans } = context;
    this.filter = view.filter;
    this.search = new SessionSearch(context, view.explorer, view.filter.text, error => this.takeMore(error));
    this.filters = new SessionFilters(trans, change => void this.change(change));
    this.filters.search.value = view.filter.text;
    this.leftOut = new LeftOutView(
      trans,
      () => context.client.request('sessions.left_out', { explorer: view.explorer }),
      context.problemOf
    );
    this.compareButton = linkButton(trans.__('Compare'), () => this.openSelected());
    this.addFolderForm = new AddFolderForm(trans, folder => this.addFolder(folder));
    this.clearButton = linkButton(trans.__('clear'), () => this.clearSelection(), trans.__('Selects no session'));
    this.queue = context.review ? this.createQueue() : null;
    this.table = new Table<SessionRowView>({
      role: 'grid',
      className: 'nbtools-sessions-table',
      label: trans.__('Sessions'),
      multiselectable: true,
      head: this.createHead(),
      rowHeight: node => parseFloat(getComputedStyle(node).getPropertyValue('--nbtools-sessions-row')) || ROW_HEIGHT,
      createRow: () => new SessionRowView(trans),
      updateRow: (row, key) => {
        const session = this.store.rows.get(key);
        session && row.update(session, this.selected.has(key), this.state);
      },
      click: (index, event) => this.onClick(index, event)
    });
    this.message.setAttribute('role', 'status');
    this.node.setAttribute('aria-label', trans.__('Sessions on this machine'));
    this.foot.append(
      element(
        'span',
        'nbtools-sessions-actions',
        this.compareButton,
        ...(this.queue ? [this.queue.button] : []),
        this.status,
        this.clearButton,
        this.leftOut.link
      ),
      this.addFolderForm.node,
      element('span', '', trans.__('Enter opens, Space selects, / searches'))
    );
    const totals = linkButton(
      trans.__('Totals…'),
      () => this.openTotals(),
      trans.__('Adds up the listed sessions by day, project, model and agent')
    );
    this.node.classList.add(this.scope);
    this.node.append(
      this.style,
      this.filters.node,
      ...(this.queue ? [this.queue.node] : []),
      this.message,
      this.table.node,
      this.leftOut.node,
      element('div', 'nbtools-sessions-foot', this.totals, totals),
      this.foot
    );
    this.draw();
    window.addEventListener('keydown', this.keyListener, true);
    void this.begin(first);
  }

  dispose(): void {
    this.disposed = true;
    window.clearTimeout(this.timer);
    window.removeEventListener('keydown', this.keyListener, true);
    this.search.stop();
    this.filters.dispose();
    this.table.dispose();
  }

  /** Moves the focus to the session that was opened last, else to the first one. */
  focus(): void {
    this.table.node.focus();
    this.table.activate(this.table.active);
  }

  private createQueue(): ReviewQueueView {
    const { store } = this;
    return new ReviewQueueView(this.context, this.view.explorer, {
      choice: () => {
        const ids = (keys: Iterable<number>) => [...keys].flatMap(key => store.rows.get(key)?.id ?? []);
        const { text, agent, project, outcome, since, until, repository, only, review } = this.filter;
        const isFiltered = Boolean(text || agent || project || outcome || since || until || repository || only || review);
        return { selected: ids(this.selected), listed: ids(this.listed.keys), isFiltered };
      },
      changed: reviews => {
        this.isReviewed = reviews.keys.length > 0 || reviews.verdicts.length > 0;
        store.review(reviews);
        this.disposed || this.update();
        this.table.redraw();
      },
      leave: () => this.focus()
    });
  }

  private createHead(): HTMLElement {
    const { trans } = this.context;
    const space = element('span', 'nbtools-sessions-box');
    space.setAttribute('role', 'gridcell');
    const definitions = new Map(this.view.definitions.map(({ name, text }) => [name, text]));
    for (const column of COLUMNS) {
      const head = cellOf(column, 'columnheader');
      const label = column.label(trans);
      const hint = column.hint?.(trans) ?? definitions.get(column.definition ?? '') ?? '';
      head.title = hint;
      head.append(column.value ? linkButton(label, () => void this.change(this.sortedBy(column.key, !column.isAscending)), hint) : label);
      this.heads.set(column.key, head);
    }
    return element('div', 'nbtools-sessions-row', space, ...this.heads.values());
  }

  /** Returns the order after a click on the head of a column. */
  private sortedBy(key: string, isDescendingFirst: boolean): Partial<ListFilter> {
    const { sort, descending } = this.filter;
    return { sort: key, descending: sort === key ? !descending : isDescendingFirst };
  }

  /** What cells show now besides their sessions. */
  private get state(): ListState {
    return {
      now: (Date.now() + this.clockOffset) / 1000,
      filter: this.filter,
      found: this.search.found,
      isReviewed: this.isReviewed
    };
  }

  private async begin(first: Result<'sessions.rows'> | null): Promise<void> {
    const isLatest = first ? this.take(first) : await this.load(true, false);
    isLatest && (await this.load(false, false));
    await this.queue?.refresh();
    this.schedule();
  }

  /** Asks for the sessions that have changed, or for the latest ones only; returns whether there are others. */
  private async load(latest: boolean, look: boolean): Promise<boolean> {
    const { client, problemOf } = this.context;
    try {
      const params = { explorer: this.view.explorer, version: this.store.version, latest, look };
      return this.take(await client.request('sessions.rows', params));
    } catch (error) {
      this.fail(problemOf(error));
      return false;
    }
  }

  private take(reply: Result<'sessions.rows'>): boolean {
    const isChanged = this.store.add(reply);
    this.facts = reply;
    this.problem = '';
    this.clockOffset = reply.now * 1000 - Date.now();
    if (this.disposed) {
      return false;
    }
    reply.gone.forEach(key => this.selected.delete(key));
    // A search that failed is repeated.
    const isUnanswered = this.search.found?.text !== this.filter.text;
    if (this.filter.text && !this.isSearching && (isChanged || isUnanswered)) {
      void this.startSearch().then(() => this.update());
    }
    isChanged ? this.update() : this.draw();
    this.table.redraw(); // the sessions have become older
    return reply.more;
  }

  private fail(problem: string): void {
    this.problem = problem;
    this.disposed || this.draw();
  }

  private async change(change: Partial<ListFilter>): Promise<void> {
    const filter = { ...this.filter, ...change };
    const isOtherText = filter.text !== this.filter.text;
    this.filter = filter;
    isOtherText && (await this.startSearch());
    filter.text === this.filter.text && !this.disposed && this.show();
  }

  /** Asks the kernel which sessions contain the text.  The list stays as it is until the first part of the answer. */
  private async startSearch(): Promise<void> {
    const { text } = this.filter;
    this.isSearching = text !== '';
    try {
      await this.search.search(text);
      if (text === this.filter.text) {
        this.problem = '';
      }
    } catch (error) {
      text === this.filter.text && this.fail(this.context.problemOf(error));
    }
    if (text === this.filter.text) {
      this.isSearching = false;
    }
  }

  /** Lists what the search has found since. */
  private takeMore(error: unknown): void {
    if (error) {
      this.fail(this.context.problemOf(error));
    } else if (!this.disposed) {
      this.update();
    }
  }

  /** Lists the sessions under the filter, from the first one on. */
  private show(): void {
    const active = this.table.keyAt(this.table.active);
    this.listed = listedSessions(this.store.rows.values(), this.state);
    this.table.show(this.listed.keys);
    this.table.active = active === null ? null : this.table.rowOf(active);
    this.draw();
  }

  /** Lists sessions that have changed.  The rows in view stay, except at the start of the list, where new ones come. */
  private update(): void {
    const isAtStart = this.table.node.scrollTop === 0;
    this.listed = listedSessions(this.store.rows.values(), this.state);
    this.table.replace(this.listed.keys, { sorted: true });
    if (isAtStart) {
      this.table.node.scrollTop = 0;
    }
    this.draw();
  }

  private draw(): void {
    const { trans } = this.context;
    const { filter, listed, store, table } = this;
    const total = listed.keys.length;
    const rows = listed.keys.flatMap(key => store.rows.get(key) ?? []);
    setText(this.totals, totalsText(totalsOf(rows), trans));
    this.totals.title = filter.since || filter.until ? trans.__('Of whole sessions. Totals… counts only what they did in this time.') : '';
    if (total) {
      table.active ??= 0;
    }
    table.node.hidden = total === 0;
    this.node.classList.toggle('nbtools-sessions-many', total > FEW);
    const sessions = trans._n('%1 session', '%1 sessions', store.rows.size);
    const count = total === store.rows.size ? sessions : trans.__('%1 of %2', total.toLocaleString(), sessions);
    this.filters.update(listed, this.state, this.facts ? count : '');
    this.drawColumns();
    for (const [key, head] of this.heads) {
      const isSorted = key === filter.sort;
      isSorted ? head.setAttribute('aria-sort', filter.descending ? 'descending' : 'ascending') : head.removeAttribute('aria-sort');
    }
    this.drawMessage();
    this.drawFoot();
  }

  /** Places the columns that are shown now. */
  private drawColumns(): void {
    const { state } = this;
    const isShown = ({ isShown }: ColumnDefinition) => isShown?.(state) ?? true;
    const absent = COLUMNS.filter(column => !isShown(column));
    setText(this.style, columnStyle(this.scope, COLUMNS.filter(isShown), absent));
    const hasExcerpts = state.found !== null;
    if (this.node.classList.contains('nbtools-sessions-found') !== hasExcerpts) {
      this.node.classList.toggle('nbtools-sessions-found', hasExcerpts);
      this.table.measure();
    }
  }

  private drawMessage(): void {
    const { trans } = this.context;
    const { facts, problem, message } = this;
    if (problem) {
      setText(message, problem);
    } else if (this.listed.keys.length) {
      message.replaceChildren();
    } else if (facts === null || facts.left > 0 || this.isSearching) {
      setText(message, trans.__('Looking for sessions…'));
    } else if (this.store.rows.size) {
      setText(message, trans.__('No session matches.'));
    } else {
      message.replaceChildren(
        element('p', '', trans.__('No session of an agent was found on this machine. These folders were searched:')),
        element('ul', '', ...facts.folders.map(folder => element('li', '', element('code', '', folder)))),
        element('p', '', trans.__('To list the logs of another folder, add it below.'))
      );
    }
  }

  /** Shows what is being read, how many sessions are selected, and whether they can be compared. */
  private drawFoot(): void {
    const { trans, least = 2 } = this.context;
    const { left = 0, left_out = 0 } = this.facts ?? {};
    const { unread } = this.listed;
    const { size } = this.selected;
    const parts = [
      this.selectionText(),
      size > 0 && size < least ? trans.__('select another one to compare') : '',
      size > MOST_COMPARED ? trans.__('at most %1 can be compared', MOST_COMPARED) : '',
      left > 0 ? trans._n('%1 log is not listed yet', '%1 logs are not listed yet', left) : '',
      ...this.searchNotes(),
      unread > 0 ? trans._n('reading %1 log completely', 'reading %1 logs completely', unread) : ''
    ];
    this.leftOut.update(left_out);
    this.clearButton.hidden = size === 0;
    this.compareButton.hidden = size < least || size > MOST_COMPARED;
    setText(this.status, parts.filter(Boolean).join(' · '));
  }

  private openTotals(): void {
    const { since, until } = this.filter;
    this.context.totals({
      explorer: this.view.explorer,
      keys: this.listed.keys,
      period: { since, until },
      unread: this.listed.unread,
      filter: change => {
        change.since === undefined || this.filters.period.show({ since: change.since, until: change.until ?? 0 });
        void this.change(change);
      }
    });
  }

  private selectionText(): string {
    const { trans } = this.context;
    const { selected } = this;
    const listed = new Set(selected.size ? this.listed.keys : []);
    const hidden = [...selected].filter(key => !listed.has(key)).length;
    const count = selected.size ? trans.__('%1 selected', selected.size) : '';
    return hidden ? `${count}, ${trans.__('%1 not shown', hidden)}` : count;
  }

  private clearSelection(): void {
    this.selected.clear();
    this.table.redraw();
    this.drawFoot();
    this.table.node.focus();
  }

  /** Lists the logs of a folder, too; returns what was found in it, or why it cannot. */
  private async addFolder(folder: string): Promise<Pick<AddedFolder, 'problem'> & Partial<AddedFolder>> {
    const { client, problemOf } = this.context;
    try {
      const added = await client.request('sessions.add_folder', { explorer: this.view.explorer, folder });
      added.problem || (await this.load(false, false));
      return added;
    } catch (error) {
      return { problem: problemOf(error) };
    }
  }

  /** Returns what the search has not looked at. */
  private searchNotes(): string[] {
    const { trans } = this.context;
    const { answer } = this.search.found ?? {};
    if (!answer) {
      return [];
    }
    const { left, missing, changed, incomplete, has_contents: hasContents } = answer;
    return [
      hasContents ? '' : trans.__('contents are not searched here'),
      left > 0 ? trans._n('searching %1 more session', 'searching %1 more sessions', left) : '',
      missing > 0 ? trans._n('%1 session is not indexed yet', '%1 sessions are not indexed yet', missing) : '',
      changed > 0
        ? trans._n('%1 session has changed since it was indexed', '%1 sessions have changed since they were indexed', changed)
        : '',
      incomplete > 0 ? trans._n('%1 session is not searched completely', '%1 sessions are not searched completely', incomplete) : ''
    ];
  }

  /** Looks again later, sooner if not everything has been read. */
  private schedule(): void {
    const isReading = this.listed.unread > 0 || (this.search.found?.answer?.missing ?? 0) > 0 || (this.facts?.left ?? 0) > 0;
    window.clearTimeout(this.timer);
    this.timer = this.disposed ? 0 : window.setTimeout(() => void this.look(), isReading ? READING_INTERVAL : INTERVAL);
  }

  private async look(): Promise<void> {
    const isVisible = this.node.isConnected && this.node.offsetParent !== null && document.visibilityState === 'visible';
    if (isVisible && !this.isSearching) {
      await this.load(false, true);
      await this.queue?.refresh();
    }
    this.schedule();
  }

  private onClick(index: number, event: MouseEvent): void {
    const session = this.sessionAt(index);
    if (!session) {
      return;
    }
    this.table.node.focus({ preventScroll: true });
    this.table.activate(index, 0);
    const isBox = (event.target as Element).closest('.nbtools-sessions-box') !== null;
    isBox || event.ctrlKey || event.metaKey || event.shiftKey ? this.toggle(session) : this.open(session);
  }

  private toggle({ key }: SessionRow): void {
    this.selected.delete(key) || this.selected.add(key);
    this.table.redraw();
    this.drawFoot();
  }

  /** Compares the selected sessions, else opens the active one. */
  private openSelected(): void {
    const session = this.sessionAt(this.table.active);
    if (!this.compareButton.hidden) {
      this.context.compare([...this.selected].flatMap(key => this.store.rows.get(key) ?? []));
    } else if (session) {
      this.open(session);
    }
  }

  /** Opens a session, as part of the review if it is in one; else at the first hit, if the text is in its contents. */
  private open(session: SessionRow): void {
    const { found } = this.search;
    if (this.queue && session.queued) {
      this.queue.open(session.id);
    } else {
      this.context.open(session, found?.contents.has(session.key) ? found.text : '');
    }
  }

  private sessionAt(index: number | null): SessionRow | undefined {
    const key = this.table.keyAt(index);
    return key === null ? undefined : this.store.rows.get(key);
  }

  private onKey(event: KeyboardEvent): void {
    const target = event.composedPath()[0];
    const modified = event.ctrlKey || event.altKey || event.metaKey || event.isComposing;
    if (!(target instanceof Element) || !this.node.contains(target) || modified || event.key === 'Tab') {
      return;
    }
    const isInSearch = target === this.filters.search;
    event.stopImmediatePropagation(); // Jupyter has shortcuts of one letter
    if (this.queue?.node.contains(target)) {
      this.queue.onKey(event.key, target) && event.preventDefault();
      return;
    }
    const isInField = target.matches('input:not([type=checkbox])');
    const isHandled = isInSearch ? this.onSearchKey(event.key) : target === this.table.node && this.onRowKey(event.key);
    const isEscape = event.key === 'Escape' && (this.addFolderForm.closeFrom(target) || this.leftOut.closeFrom(target));
    if (isHandled || isEscape || (event.key === '/' && !isInField && this.focusSearch())) {
      event.preventDefault();
    }
  }

  private onSearchKey(key: string): boolean {
    if (key === 'ArrowDown' || key === 'Enter') {
      this.focus();
      return true;
    }
    return key === 'Escape' && (this.filters.clear() || true);
  }

  private onRowKey(key: string): boolean {
    const session = this.sessionAt(this.table.active);
    if (key === 'Enter') {
      this.openSelected();
    } else if (key === ' ' && session) {
      this.toggle(session);
    } else if (key === 'u' && this.queue?.isActive) {
      this.queue.open();
    } else {
      return key === ' ' || this.table.onKey(key);
    }
    return true;
  }

  private focusSearch(): boolean {
    this.filters.search.focus();
    this.filters.search.select();
    return true;
  }
}
