import { ExplorerLost, type Reply, type Task } from '../explorer/explorer_context.js';
import { element, focusedIn, linkButton } from '../shared/element.js';
import { ComparisonPage } from './comparison.js';
import type { PlaceContext } from './context.js';
import type { ComparisonView } from './model.js';
import { ExplorerInPlace } from './picker.js';

/** A comparison, and in its place the explorer of a run that is opened from it, with a way back. */
export class ComparisonInPlace {
  readonly node = element('div', 'nbtools-sessions-place');
  private readonly page: ComparisonPage;
  private explorer: ExplorerInPlace | null = null;

  constructor(
    private readonly context: PlaceContext,
    private readonly view: ComparisonView
  ) {
    this.page = new ComparisonPage(
      { trans: context.trans, query: task => this.query(task), open: (run, step) => void this.open(run, step) },
      view
    );
    this.node.append(this.page.node);
  }

  dispose(): void {
    this.page.dispose();
    this.explorer?.dispose();
  }

  focus(): void {
    this.page.focus();
  }

  private async query(task: Task): Promise<Reply> {
    return this.context.query(this.view.explorer, task).catch((error: unknown): Reply => {
      if (error instanceof ExplorerLost) {
        return { type: 'problem', text: this.context.recovery };
      }
      throw error;
    });
  }

  private async open(run: number, step: string): Promise<void> {
    const focused = focusedIn(this.page.node);
    const reply = await this.query({ type: 'open_run', run, step });
    const view = reply.type === 'logs' ? reply.view : null;
    this.explorer?.dispose();
    this.explorer = view && new ExplorerInPlace(this.context, view);
    const shown = this.explorer?.node ?? element('p', 'nbtools-sessions-message', reply.type === 'problem' ? reply.text : '');
    const back = linkButton(`← ${this.context.trans.__('Comparison')}`, () => this.back(focused));
    this.page.node.style.display = 'none'; // stays in the page, and with it where it was scrolled to
    this.node.replaceChildren(this.page.node, element('nav', 'nbtools-log-links', back), shown);
    back.focus();
  }

  private back(focused: HTMLElement | null): void {
    this.explorer?.dispose();
    this.explorer = null;
    this.page.node.style.display = '';
    this.node.replaceChildren(this.page.node);
    focused?.focus();
  }
}
