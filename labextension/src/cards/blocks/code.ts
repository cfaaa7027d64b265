import { element } from '../../shared/element.js';
import { drawSpans } from '../highlighting.js';
import type { CardContext } from '../../shared/tokens.js';
import type { CodeBlock } from '../model.js';
import { setNumberWidth, placeLink, scrollBox, type BlockView } from './block.js';
import { Preview } from './preview.js';

/** Part of a file with line numbers that open the file at their line. */
export class CodeView implements BlockView<CodeBlock> {
  readonly node = element('div', 'nbtools-code');
  private readonly box = scrollBox('nbtools-listed', '');
  private readonly title = element('div', 'nbtools-title');
  private readonly preview: Preview;
  private block: CodeBlock | null = null;

  constructor(private readonly context: CardContext) {
    this.preview = new Preview(context, this.box, () => this.draw(this.block!));
    this.node.append(this.title, this.box, this.preview.node);
  }

  update(block: CodeBlock): void {
    this.block = block;
    this.draw(block);
  }

  private draw(block: CodeBlock): void {
    const { lines, start, title } = block;
    const shown = title ? lines.length : this.preview.shown(lines.length); // a person who approves code sees all of it
    this.title.textContent = title;
    this.title.hidden = title === '';
    this.box.setAttribute('aria-label', block.path || title);
    this.box.hidden = lines.length === 0;
    setNumberWidth(this.box, start + shown - 1);
    this.box.replaceChildren(...lines.slice(0, shown).map((spans, i) => this.drawLine(block, spans, start + i)));
    const total = Math.max(block.total, start - 1 + lines.length);
    this.preview.update(shown, lines.length, total - start + 1, this.sentence(block, shown, total));
  }

  private sentence({ start, lines, total: known, more }: CodeBlock, shown: number, total: number): string {
    const last = start - 1 + shown;
    const part = shown < lines.length || (known > 0 && shown < total);
    const range = [start, last, total].map(number => number.toLocaleString());
    const lineRange = part && shown ? this.context.trans.__('Lines %1–%2 of %3', ...range) : '';
    return [lineRange, more].filter(Boolean).join('. ');
  }

  private drawLine(block: CodeBlock, spans: CodeBlock['lines'][number], line: number): HTMLElement {
    const number = block.path ? placeLink(this.context, String(line), block.path, line) : element('span', '', String(line));
    number.tabIndex = -1;
    number.classList.add('nbtools-number');
    return element('div', 'nbtools-line', number, element('code', '', ...drawSpans(spans)));
  }
}
