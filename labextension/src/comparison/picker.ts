import { element, linkButton } from '../shared/element.js';
import { ExplorerLost, type Reply, type Task } from '../explorer/explorer_context.js';
import { SessionsListView } from '../sessions/sessions.js';
import type { SessionFilter, SessionRow } from '../sessions/model.js';
import type { PlaceContext } from './context.js';
import { ExplorerView } from '../explorer/explorer.js';
import type { TraceView } from '../explorer/model.js';
import { ComparisonInPlace } from './in_place.js';

const ALL: SessionFilter = { text: '', agent: '', project: '', outcome: '', sort: 'age', descending: true };
const FIRST_ROWS = 60;

export interface PickerOptions {
  /** Compares with these sessions in a place of their own; absent: in place of the explorer. */
  readonly compare?: (sessions: readonly SessionRow[]) => void;
  /** Lets the person choose files instead. */
  readonly files?: (() => void) | null;
}

/** Lets the person choose sessions to compare an open log with, and shows the comparison in place of its explorer. */
export class ComparePicker {
  readonly node = element('div', 'nbtools-sessions-place');
  private content: { readonly node: HTMLElement; dispose(): void; focus(): void } | null = null;

  /** `explorer` is shown again by the way back. */
  constructor(
    private readonly context: PlaceContext,
    private readonly id: string,
    private readonly explorer: { readonly node: HTMLElement; focus(): void },
    private readonly options: PickerOptions = {}
  ) {
    explorer.node.style.display = 'none';
    explorer.node.after(this.node);
    void this.list();
  }

  dispose(): void {
    this.content?.dispose();
    this.node.remove();
    this.explorer.node.style.display = '';
  }

  private async list(): Promise<void> {
    const { trans, recovery } = this.context;
    this.show(element('p', 'nbtools-sessions-message', trans.__('Looking for sessions…')));
    const reply = await this.query({ type: 'sessions', filter: ALL, first: 0, count: FIRST_ROWS, look: true });
    if (reply.type !== 'sessions') {
      this.show(element('p', 'nbtools-sessions-message', reply.type === 'problem' ? reply.text : ''));
      return;
    }
    const compare = (sessions: readonly SessionRow[]) => void this.compare(sessions);
    const list = new SessionsListView(
      { trans, recovery, query: task => this.query(task), open: session => compare([session]), compare, least: 1 },
      { explorer: this.id, filter: ALL, page: reply }
    );
    this.content = list;
    this.show(list.node);
    list.focus();
  }

  private async compare(sessions: readonly SessionRow[]): Promise<void> {
    if (this.options.compare) {
      this.back();
      this.options.compare(sessions);
      return;
    }
    this.show(element('p', 'nbtools-sessions-message', this.context.trans.__('Comparing…')));
    const reply = await this.query({ type: 'compare_with', ids: sessions.map(({ id }) => id) });
    this.content?.dispose();
    this.content = null;
    if (reply.type === 'logs' && reply.comparison) {
      const comparison = new ComparisonInPlace(this.context, reply.comparison);
      this.content = comparison;
      this.show(comparison.node);
      comparison.focus();
    } else {
      this.show(element('p', 'nbtools-sessions-message', reply.type === 'problem' ? reply.text : ''));
    }
  }

  private async query(task: Task): Promise<Reply> {
    return this.context.query(this.id, task).catch((error: unknown): Reply => {
      if (error instanceof ExplorerLost) {
        return { type: 'problem', text: this.context.recovery };
      }
      throw error;
    });
  }

  private show(content: Node): void {
    const { trans } = this.context;
    const { files } = this.options;
    const back = linkButton(`← ${trans.__('Back to the log')}`, () => this.back());
    const other = files ? [linkButton(trans.__('choose files…'), () => (this.back(), files()))] : [];
    this.node.replaceChildren(element('nav', 'nbtools-log-links', back, ...other), content);
  }

  private back(): void {
    this.dispose();
    this.explorer.focus();
  }
}

/** An explorer that is opened from another page; in its place the sessions to compare it with. */
export class ExplorerInPlace {
  readonly node = element('div', 'nbtools-sessions-place');
  private readonly explorer: ExplorerView;
  private picker: ComparePicker | null = null;

  constructor(context: PlaceContext, view: TraceView) {
    const compare = () => {
      this.picker?.dispose();
      this.picker = new ComparePicker(context, view.explorer, this.explorer);
    };
    this.explorer = new ExplorerView({ ...context.explorer(task => context.query(view.explorer, task)), compare });
    this.node.append(this.explorer.node);
    this.explorer.update(view);
  }

  /** Shows another version of the same explorer's view. */
  update(view: TraceView): void {
    this.explorer.update(view);
  }

  dispose(): void {
    this.picker?.dispose();
    this.explorer.dispose();
  }
}
