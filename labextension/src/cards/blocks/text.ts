import { element, updateChildren } from '../../shared/element.js';
import type { CardContext } from '../../shared/tokens.js';
import type { TextBlock } from '../model.js';
import { phrase } from '../phrases.js';
import { withLinks, type BlockView } from './block.js';
import { Preview } from './preview.js';

/** Characters that count as one line in a text with long lines. */
const LONG_LINE = 100;

/** Plain text, with web addresses as links, or rendered markdown, which is never shortened: a cut would open lists and code. */
export class TextView implements BlockView<TextBlock> {
  readonly node = element('div', 'nbtools-text');
  private readonly box = element('div', 'nbtools-words');
  private readonly preview: Preview;
  private block: TextBlock | null = null;
  private currentText = '';

  constructor(private readonly context: CardContext) {
    this.preview = new Preview(context, this.box, () => this.draw(this.block!));
    this.node.append(this.box, this.preview.node);
  }

  update(block: TextBlock): void {
    this.block = block;
    if (block.title) {
      this.drawFolded(block);
    } else {
      this.draw(block);
    }
  }

  /** Draws the text below its title, which unfolds it. */
  private drawFolded({ title, text, tone }: TextBlock): void {
    const summary = element('summary', '', `⋯ ${phrase(this.context.trans, title)}`);
    const details = element('details', '', summary, element('pre', '', text));
    details.open = this.box.querySelector('details')?.open ?? false;
    this.node.dataset['tone'] = tone;
    this.box.replaceChildren(details);
    this.preview.update(0, 0, 0, '');
  }

  private draw(block: TextBlock): void {
    const lines = block.text.split('\n');
    const height = block.markdown ? 0 : lines.reduce((sum, line) => sum + Math.ceil((line.length + 1) / LONG_LINE), 0);
    const shown = this.preview.shown(height) === height ? lines.length : firstLines(lines, this.preview.shown(height));
    this.node.dataset['tone'] = block.tone;
    this.currentText = lines.slice(0, shown).join('\n');
    if (block.markdown) {
      void this.drawMarkdown(this.currentText);
    } else {
      this.box.replaceChildren(element('pre', '', ...withLinks(this.currentText)));
    }
    const missing = lines.length - shown;
    const sentence = missing ? this.context.trans._n('⋯ %1 more line', '⋯ %2 more lines', missing, missing.toLocaleString()) : '';
    this.preview.update(shown, lines.length, lines.length, sentence, height);
  }

  private async drawMarkdown(text: string): Promise<void> {
    const drawn = await this.context.markdown(text);
    const { firstChild } = this.box;
    if (this.currentText !== text) {
      return;
    }
    if (firstChild instanceof HTMLElement && firstChild.className === drawn.className) {
      updateChildren(firstChild, drawn);
    } else {
      this.box.replaceChildren(drawn);
    }
  }
}

/** Returns how many lines have a height of at most `height` altogether, but at least one. */
function firstLines(lines: readonly string[], height: number): number {
  let used = 0;
  const end = lines.findIndex(line => (used += Math.ceil((line.length + 1) / LONG_LINE)) > height);
  return end < 0 ? lines.length : Math.max(1, end);
}
