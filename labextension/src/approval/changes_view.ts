import { DiffView } from '../cards/blocks/diff.js';
import type { DiffBlock } from '../cards/model.js';
import { element, linkButton } from '../shared/element.js';
import type { CardContext } from '../shared/tokens.js';

/** The line that says that the person has changed the proposal, and the diff from the first proposal, which it unfolds. */
export class ChangesView {
  readonly node = element('div', 'nbtools-changed');
  private readonly link: HTMLElement;
  private diff: DiffView | null = null;

  constructor(
    private readonly block: DiffBlock,
    private readonly context: CardContext,
    private readonly onResize: () => void
  ) {
    const { trans } = context;
    this.link = linkButton(trans.__('Show what you changed'), () => this.toggle(), '');
    this.link.setAttribute('aria-expanded', 'false');
    this.node.append(element('div', 'nbtools-changed-line', element('span', '', trans.__('With your changes')), this.link));
  }

  dispose(): void {
    this.diff?.dispose();
  }

  private toggle(): void {
    const { trans } = this.context;
    if (this.diff) {
      this.diff.dispose();
      this.diff.node.remove();
      this.diff = null;
    } else {
      this.diff = new DiffView(this.context, () => undefined);
      this.node.append(this.diff.node);
      this.diff.update(this.block);
    }
    this.link.textContent = this.diff ? trans.__('Hide what you changed') : trans.__('Show what you changed');
    this.link.setAttribute('aria-expanded', String(this.diff !== null));
    this.onResize();
  }
}
