import { element, focusedIn, linkButton, setText, updateChildren } from '../shared/element.js';
import { ExplorerLost } from '../explorer/explorer_context.js';
import type { SessionsContext } from './context.js';
import { SessionFilters } from './filter_bar.js';
import type { SessionFilter, SessionRow, SessionsPage, SessionsView } from './model.js';
import { COLUMNS, columnLabel, drawRow, type Column } from './row.js';

/** Sessions that are requested at once, as the person scrolls. */
const PAGE = 100;
/** Most sessions that are drawn: searching finds the others. */
const MAX_ROWS = 2000;
/** Milliseconds between requests while logs are being read, and otherwise. */
const READING_INTERVAL = 1000;
const INTERVAL = 5000;
const MOST_COMPARED = 20;
/** Columns that are sorted upwards at first. */
const ASCENDING: readonly string[] = ['title', 'agent', 'model', 'project'];

/** The list of all sessions on a machine: search, filters, and a table.  It must be inside `.nbtools-rendered`. */
export class SessionsListView {
  readonly node = element('article', 'nbtools-sessions');
  private readonly filters: SessionFilters;
  private readonly head = element('tr');
  private readonly body = element('tbody');
  private readonly box = element('div', 'nbtools-sessions-box-scroll');
  private readonly foot = element('div', 'nbtools-sessions-foot');
  private readonly compareButton: HTMLButtonElement;
  private readonly status = element('span');
  private parts: readonly string[] = [];
  private readonly message = element('div', 'nbtools-sessions-message');
  private rows: SessionRow[] = [];
  private selected = new Map<string, SessionRow>();
  private active = '';
  private filter: SessionFilter;
  private wanted = 0;
  private timer = 0;
  private loading = false;
  private readonly keyListener = (event: KeyboardEvent) => this.onKey(event);

  constructor(
    private readonly context: SessionsContext,
    view: SessionsView
  ) {
    const { trans } = context;
    this.filter = view.filter;
    this.filters = new SessionFilters(trans, change => void this.load({ ...this.filter, ...change }));
    this.filters.search.value = view.filter.text;
    this.compareButton = linkButton(trans.__('Compare'), () => this.openSelected());
    this.build();
    this.show(view.page, 0);
    window.addEventListener('keydown', this.keyListener, true);
    this.schedule(view.page);
  }

  dispose(): void {
    this.wanted = -1;
    window.clearTimeout(this.timer);
    window.removeEventListener('keydown', this.keyListener, true);
    this.filters.dispose();
  }

  /** Moves the focus to the session that was opened last, else to the first one. */
  focus(): void {
    (this.rowNode(this.active) ?? this.body.querySelector('tr'))?.focus();
  }

  private build(): void {
    const { trans } = this.context;
    const table = element('table', '', element('thead', '', this.head), this.body);
    table.setAttribute('role', 'grid');
    table.setAttribute('aria-label', trans.__('Sessions'));
    table.setAttribute('aria-multiselectable', 'true');
    this.head.append(element('td'), ...COLUMNS.map(column => this.columnHead(column)));
    this.box.append(table);
    this.box.addEventListener('scroll', () => this.onScroll(), { passive: true });
    this.body.addEventListener('click', event => this.onClick(event));
    this.message.setAttribute('role', 'status');
    this.node.setAttribute('aria-label', trans.__('Sessions on this machine'));
    this.node.append(this.filters.node, this.message, this.box, this.foot);
  }

  private columnHead(column: Column): HTMLElement {
    const { trans } = this.context;
    const head = element('th', `nbtools-sessions-${column}`);
    head.scope = 'col';
    head.dataset['column'] = column;
    head.append(
      linkButton(columnLabel(column, trans), () => {
        const { sort, descending } = this.filter;
        void this.load({ ...this.filter, sort: column, descending: sort === column ? !descending : !ASCENDING.includes(column) });
      })
    );
    return head;
  }

  /** Requests the sessions under a filter.  `keep`: as many as there are, in place; else the first ones. */
  private async load(filter: SessionFilter, keep = false, look = false): Promise<void> {
    const request = ++this.wanted;
    this.filter = filter;
    window.clearTimeout(this.timer); // else this request's answer would be dropped for that of the next look
    const count = keep ? Math.max(PAGE, this.rows.length) : PAGE;
    const page = await this.request(0, Math.min(count, 200), look);
    if (request !== this.wanted) {
      return;
    }
    if (page === null) {
      look || this.schedule();
      return;
    }
    const rest = keep ? this.rows.slice(page.rows.length) : [];
    keep || (this.box.scrollTop = 0);
    this.show(page, 0, rest);
    this.schedule(page);
  }

  private async request(first: number, count: number, look: boolean): Promise<SessionsPage | null> {
    const reply = await this.context.query({ type: 'sessions', filter: this.filter, first, count, look }).catch((error: unknown) => {
      if (error instanceof ExplorerLost) {
        return { type: 'problem' as const, text: this.context.recovery };
      }
      throw error;
    });
    if (reply.type === 'sessions') {
      return reply;
    }
    setText(this.message, reply.type === 'problem' ? reply.text : '');
    return null;
  }

  private show(page: SessionsPage, first: number, rest: readonly SessionRow[] = []): void {
    const { trans } = this.context;
    this.rows = [...this.rows.slice(0, first), ...page.rows, ...rest].slice(0, page.total);
    const fresh = element('tbody', '', ...this.rows.map(session => drawRow(session, this.selected.has(session.id), trans)));
    const focused = focusedIn(this.body) !== null;
    updateChildren(this.body, fresh);
    this.setActive(this.rows.some(({ id }) => id === this.active) ? this.active : (this.rows[0]?.id ?? ''), focused);
    this.filters.update(page, this.filter, countOf(page, trans));
    for (const head of this.head.querySelectorAll<HTMLElement>('th')) {
      const sorted = head.dataset['column'] === this.filter.sort;
      sorted ? head.setAttribute('aria-sort', this.filter.descending ? 'descending' : 'ascending') : head.removeAttribute('aria-sort');
    }
    this.showMessage(page);
    this.showFoot(page);
  }

  private showMessage({ all, total, left, folders }: SessionsPage): void {
    const { trans } = this.context;
    this.box.hidden = total === 0;
    if (total > 0) {
      this.message.replaceChildren();
    } else if (all > 0 || left > 0) {
      setText(this.message, left > 0 ? trans.__('Looking for sessions…') : trans.__('No session matches.'));
    } else {
      this.message.replaceChildren(
        element('p', '', trans.__('No session of an agent was found on this machine. These folders were searched:')),
        element('ul', '', ...folders.map(folder => element('li', '', element('code', '', folder)))),
        element(
          'p',
          '',
          trans.__('To list the logs of another folder, run this in a terminal:'),
          ' ',
          element('code', '', 'nbtools trace --add FOLDER')
        )
      );
    }
  }

  private showFoot({ unread, left, unreadable }: SessionsPage): void {
    const { trans } = this.context;
    const parts = [
      left > 0 ? trans._n('%1 log is not listed yet', '%1 logs are not listed yet', left) : '',
      unread > 0 ? trans._n('reading %1 log completely', 'reading %1 logs completely', unread) : '',
      unreadable > 0 ? trans._n('%1 file is in no known format', '%1 files are in no known format', unreadable) : ''
    ].filter(Boolean);
    const keys = trans.__('Enter opens, Space selects, / searches');
    this.parts = parts;
    this.foot.replaceChildren(this.compareButton, this.status, element('span', '', keys));
    this.showSelected();
  }

  /** Shows how many sessions are selected, and whether they can be compared. */
  private showSelected(): void {
    const { trans, least = 2 } = this.context;
    const { size } = this.selected;
    this.compareButton.hidden = size < least || size > MOST_COMPARED;
    const one = size > 0 && size < least ? trans.__('select another one to compare') : '';
    const many = size > MOST_COMPARED ? trans.__('at most %1 can be compared', MOST_COMPARED) : '';
    setText(this.status, [size ? trans.__('%1 selected', size) : '', one || many, ...this.parts].filter(Boolean).join(' · '));
  }

  /** Looks again later, sooner if not everything has been read. */
  private schedule({ unread, left }: Pick<SessionsPage, 'unread' | 'left'> = { unread: 0, left: 0 }): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(
      () => {
        const visible = this.node.isConnected && this.node.offsetParent !== null && document.visibilityState === 'visible';
        visible ? void this.load(this.filter, true, true) : this.schedule();
      },
      unread > 0 || left > 0 ? READING_INTERVAL : INTERVAL
    );
  }

  private onScroll(): void {
    const { scrollTop, clientHeight, scrollHeight } = this.box;
    if (!this.loading && this.rows.length < MAX_ROWS && scrollTop + clientHeight > scrollHeight - 200) {
      void this.more();
    }
  }

  private async more(): Promise<void> {
    const request = this.wanted;
    const first = this.rows.length;
    this.loading = true;
    const page = await this.request(first, PAGE, false).finally(() => (this.loading = false));
    page && page.rows.length && request === this.wanted && this.show(page, first);
  }

  private onClick(event: MouseEvent): void {
    const target = event.target as Element;
    const session = this.sessionOf(target);
    if (!session) {
      return;
    }
    this.setActive(session.id, true);
    if (target.closest('.nbtools-sessions-box') || event.ctrlKey || event.metaKey || event.shiftKey) {
      this.toggle(session);
    } else {
      this.context.open(session);
    }
  }

  private toggle(session: SessionRow): void {
    this.selected.delete(session.id) || this.selected.set(session.id, session);
    const row = this.rowNode(session.id);
    const selected = this.selected.has(session.id);
    row?.setAttribute('aria-selected', String(selected));
    const box = row?.querySelector('input');
    box && (box.checked = selected);
    this.showSelected();
  }

  /** Compares the selected sessions, else opens the one that has the focus. */
  private openSelected(): void {
    const session = this.rows.find(({ id }) => id === this.active);
    if (!this.compareButton.hidden) {
      this.context.compare([...this.selected.values()]);
    } else if (session) {
      this.context.open(session);
    }
  }

  private onKey(event: KeyboardEvent): void {
    const target = event.composedPath()[0];
    const modified = event.ctrlKey || event.altKey || event.metaKey || event.isComposing;
    if (!(target instanceof Element) || !this.node.contains(target) || modified) {
      return;
    }
    const inSearch = target === this.filters.search;
    const inRows = this.body.contains(target);
    if (event.key === 'Tab') {
      return;
    }
    event.stopImmediatePropagation(); // Jupyter has shortcuts of one letter
    const handled = inSearch ? this.onSearchKey(event.key) : inRows ? this.onRowKey(event.key) : false;
    if (handled || (event.key === '/' && !inSearch && this.focusSearch())) {
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
    const at = this.rows.findIndex(({ id }) => id === this.active);
    const last = this.rows.length - 1;
    const moves: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 10, PageUp: at - 10, Home: 0, End: last };
    if (key in moves) {
      const session = this.rows[Math.min(Math.max(moves[key]!, 0), last)];
      session && this.setActive(session.id, true);
      return true;
    }
    const session = this.rows[at];
    if (key === 'Enter') {
      this.openSelected();
    } else if (key === ' ' && session) {
      this.toggle(session);
    }
    return key === 'Enter' || key === ' ';
  }

  private focusSearch(): boolean {
    this.filters.search.focus();
    this.filters.search.select();
    return true;
  }

  private setActive(id: string, focus: boolean): void {
    this.rowNode(this.active)?.setAttribute('tabindex', '-1');
    this.active = id;
    const row = this.rowNode(id);
    row?.setAttribute('tabindex', '0');
    focus && row?.focus();
  }

  private rowNode(id: string): HTMLElement | null {
    return id ? this.body.querySelector<HTMLElement>(`tr[data-id="${CSS.escape(id)}"]`) : null;
  }

  private sessionOf(target: Element): SessionRow | undefined {
    const id = target.closest<HTMLElement>('tr[data-id]')?.dataset['id'];
    return this.rows.find(row => row.id === id);
  }
}

function countOf({ total, all }: SessionsPage, trans: SessionsContext['trans']): string {
  const sessions = trans._n('%1 session', '%1 sessions', all);
  return total === all ? sessions : trans.__('%1 of %2', total.toLocaleString(), sessions);
}
