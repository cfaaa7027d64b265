import { element, keepEqual } from '../element.js';
import type { Surroundings } from '../tokens.js';
import type { TextBlock } from '../wire.js';
import type { BlockView } from './block.js';

/** Words: as they stand, or as the markdown that they are. */
export class TextView implements BlockView<TextBlock> {
  readonly node = element('div', 'nbtools-text');
  private wanted = '';

  constructor(private readonly around: Surroundings) {}

  update(block: TextBlock): void {
    this.node.dataset['tone'] = block.tone;
    this.wanted = block.text;
    if (block.markdown) {
      void this.drawMarkdown(block.text);
    } else {
      this.node.replaceChildren(element('pre', '', block.text));
    }
  }

  private async drawMarkdown(text: string): Promise<void> {
    const drawn = await this.around.markdown(text);
    const { firstChild } = this.node;
    if (this.wanted !== text) {
      return;
    }
    if (firstChild instanceof HTMLElement && firstChild.className === drawn.className) {
      keepEqual(firstChild, drawn);
    } else {
      this.node.replaceChildren(drawn);
    }
  }
}
