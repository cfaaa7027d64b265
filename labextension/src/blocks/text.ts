import { element } from '../element.js';
import type { Surroundings } from '../tokens.js';
import type { TextBlock } from '../wire.js';
import type { Widget } from '@lumino/widgets';
import type { BlockView } from './block.js';

/** Words: as they stand, or drawn by Jupyter's own markdown renderer. */
export class TextView implements BlockView<TextBlock> {
  readonly node = element('div', 'nbtools-text');
  private drawn: Widget | null = null;
  private wanted = '';

  constructor(private readonly around: Surroundings) {}

  update(block: TextBlock): void {
    this.node.dataset['tone'] = block.tone;
    this.wanted = block.text;
    if (block.markdown) {
      void this.drawMarkdown(block.text);
    } else {
      this.show(null, element('pre', '', block.text));
    }
  }

  dispose(): void {
    this.drawn?.dispose();
  }

  private async drawMarkdown(text: string): Promise<void> {
    const widget = await this.around.markdown(text);
    if (this.wanted === text) {
      this.show(widget, widget.node);
    } else {
      widget.dispose();
    }
  }

  private show(widget: Widget | null, node: HTMLElement): void {
    this.node.replaceChildren(node);
    this.drawn?.dispose();
    this.drawn = widget;
  }
}
