import { element, linkButton } from '../shared/element.js';
import { ExplorerView } from '../explorer/explorer.js';
import { ExplorerLost, type ExplorerContext, type Reply, type Task } from '../explorer/explorer_context.js';
import type { SessionsContext } from './context.js';
import type { SessionsView } from './model.js';
import { SessionsListView } from './sessions.js';

/** What the front end provides for a list whose sessions open in its place. */
export interface PlaceContext extends Pick<SessionsContext, 'trans' | 'recovery'> {
  /** Sends a request to the kernel, about the list or one of the explorers opened from it. */
  query(explorer: string, task: Task): Promise<Reply>;
  /** Returns the context of an explorer that was opened from the list. */
  explorer(query: (task: Task) => Promise<Reply>): ExplorerContext;
  /** Draws the kernel's HTML of a comparison; null where the front end cannot sanitize it. */
  readonly comparison: ((html: string) => Node) | null;
}

/** The list of sessions, and in its place the session that is opened from it, with a way back. */
export class SessionsInPlace {
  readonly node = element('div', 'nbtools-sessions-place');
  private readonly list: SessionsListView;
  private readonly listId: string;
  private explorer: ExplorerView | null = null;

  constructor(
    private readonly context: PlaceContext,
    view: SessionsView
  ) {
    this.listId = view.explorer;
    this.list = new SessionsListView(
      {
        trans: context.trans,
        recovery: context.recovery,
        query: task => context.query(this.listId, task),
        open: ({ id }) => void this.open([id]),
        compare: context.comparison && ((a, b) => void this.open([a.id, b.id]))
      },
      view
    );
    this.node.append(this.list.node);
  }

  dispose(): void {
    this.list.dispose();
    this.explorer?.dispose();
  }

  private async open(ids: string[]): Promise<void> {
    const { trans } = this.context;
    const busy = element('p', 'nbtools-sessions-message', trans.__('Opening…'));
    busy.setAttribute('role', 'status');
    this.show(busy);
    const reply = await this.context.query(this.listId, { type: 'open_sessions', ids }).catch((error: unknown): Reply => {
      if (error instanceof ExplorerLost) {
        return { type: 'problem', text: this.context.recovery };
      }
      throw error;
    });
    if (reply.type === 'logs' && reply.view) {
      const { view } = reply;
      this.explorer = new ExplorerView(this.context.explorer(task => this.context.query(view.explorer, task)));
      this.show(this.explorer.node);
      this.explorer.update(view);
    } else if (reply.type === 'logs' && this.context.comparison) {
      this.show(this.context.comparison(reply.comparison));
    } else {
      this.show(element('p', 'nbtools-sessions-message', reply.type === 'problem' ? reply.text : ''));
    }
  }

  private show(content: Node): void {
    const back = linkButton(`← ${this.context.trans.__('All sessions')}`, () => this.back());
    this.node.replaceChildren(element('nav', 'nbtools-log-links', back), content);
    back.focus();
  }

  private back(): void {
    this.explorer?.dispose();
    this.explorer = null;
    this.node.replaceChildren(this.list.node);
    this.list.focus();
  }
}
