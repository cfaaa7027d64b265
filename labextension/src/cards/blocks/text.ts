import { element, updateChildren } from '../../shared/element.js';
import type { CardContext } from '../../shared/tokens.js';
import type { TextBlock } from '../model.js';
import type { BlockView } from './block.js';

/** Plain text or rendered markdown. */
export class TextView implements BlockView<TextBlock> {
  readonly node = element('div', 'nbtools-text');
  private currentText = '';

  constructor(private readonly context: CardContext) {}

  update(block: TextBlock): void {
    this.node.dataset['tone'] = block.tone;
    this.currentText = block.text;
    if (block.markdown) {
      void this.drawMarkdown(block.text);
    } else {
      this.node.replaceChildren(element('pre', '', block.text));
    }
  }

  private async drawMarkdown(text: string): Promise<void> {
    const drawn = await this.context.markdown(text);
    const { firstChild } = this.node;
    if (this.currentText !== text) {
      return;
    }
    if (firstChild instanceof HTMLElement && firstChild.className === drawn.className) {
      updateChildren(firstChild, drawn);
    } else {
      this.node.replaceChildren(drawn);
    }
  }
}
