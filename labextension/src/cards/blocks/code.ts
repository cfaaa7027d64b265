import { element } from '../../shared/element.js';
import { drawSpans } from '../highlighting.js';
import type { CardContext } from '../../shared/tokens.js';
import type { CodeBlock } from '../model.js';
import { setNumberWidth, moreLine, placeLink, scrollBox, type BlockView } from './block.js';

/** Part of a file with line numbers that open the file at their line. */
export class CodeView implements BlockView<CodeBlock> {
  readonly node = element('div', 'nbtools-code');
  private readonly box: HTMLElement;

  constructor(private readonly context: CardContext) {
    this.box = scrollBox('nbtools-listed', '');
    this.node.append(this.box);
  }

  update(block: CodeBlock): void {
    this.box.setAttribute('aria-label', block.path);
    setNumberWidth(this.box, block.start + block.lines.length - 1);
    this.box.replaceChildren(...block.lines.map((spans, i) => this.drawLine(block, spans, block.start + i)));
    const more = moreLine(block.more);
    this.node.replaceChildren(this.box, ...(more ? [more] : []));
  }

  private drawLine(block: CodeBlock, spans: CodeBlock['lines'][number], line: number): HTMLElement {
    const number = placeLink(this.context, String(line), block.path, line);
    number.tabIndex = -1;
    number.classList.add('nbtools-number');
    return element('div', 'nbtools-line', number, element('code', '', ...drawSpans(spans)));
  }
}
