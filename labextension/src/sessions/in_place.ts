import { element, linkButton } from '../shared/element.js';
import { ExplorerLost, type Reply } from '../explorer/explorer_context.js';
import type { PlaceContext } from '../comparison/context.js';
import { ComparisonInPlace } from '../comparison/in_place.js';
import { ExplorerInPlace } from '../comparison/picker.js';
import type { SessionsView } from './model.js';
import { SessionsListView } from './sessions.js';

/** The list of sessions, and in its place the session or the comparison that is opened from it, with a way back. */
export class SessionsInPlace {
  readonly node = element('div', 'nbtools-sessions-place');
  private readonly list: SessionsListView;
  private readonly listId: string;
  private opened: { readonly node: HTMLElement; dispose(): void } | null = null;

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
        compare: sessions => void this.open(sessions.map(({ id }) => id))
      },
      view
    );
    this.node.append(this.list.node);
  }

  dispose(): void {
    this.list.dispose();
    this.opened?.dispose();
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
    if (busy.parentNode !== this.node) {
      return; // the person has gone back
    }
    if (reply.type === 'logs' && reply.view) {
      this.opened = new ExplorerInPlace(this.context, reply.view);
      this.show(this.opened.node);
    } else if (reply.type === 'logs' && reply.comparison) {
      this.opened = new ComparisonInPlace(this.context, reply.comparison);
      this.show(this.opened.node);
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
    this.opened?.dispose();
    this.opened = null;
    this.node.replaceChildren(this.list.node);
    this.list.focus();
  }
}
