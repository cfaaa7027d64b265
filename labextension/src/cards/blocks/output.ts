import { element } from '../../shared/element.js';
import { drawSpans } from '../highlighting.js';
import type { CardContext } from '../../shared/tokens.js';
import type { OutputBlock } from '../model.js';
import { placeLink, scrollBox, type BlockView } from './block.js';

/** The last lines of a terminal.  Unchanged lines keep their nodes, and the view follows the end unless the person has scrolled up. */
export class OutputView implements BlockView<OutputBlock> {
  readonly node = element('div', 'nbtools-output');
  private readonly earlier = element('div', 'nbtools-earlier');
  private readonly screen: HTMLElement;
  private readonly lines = element('pre', 'nbtools-lines');
  private keys: string[] = [];
  private first = 0;
  private earlierKey = '';
  /** Whether the view follows the end.  It is stored, because a hidden tab has no scroll position. */
  private following = true;
  private readonly resizeObserver = new ResizeObserver(() => this.scrollToEnd());

  constructor(private readonly context: CardContext) {
    this.screen = scrollBox('nbtools-screen', context.trans.__('Output'));
    this.screen.append(this.lines);
    this.node.append(this.earlier, this.screen);
    this.screen.addEventListener('scroll', () => this.onScroll(), { passive: true });
    this.resizeObserver.observe(this.screen);
  }

  update(block: OutputBlock): void {
    this.drawEarlier(block);
    this.removeEarlier(block.earlier);
    this.drawChanged(block.lines);
    this.scrollToEnd();
  }

  dispose(): void {
    this.resizeObserver.disconnect();
  }

  private onScroll(): void {
    const { scrollHeight, scrollTop, clientHeight } = this.screen;
    if (clientHeight > 0) {
      this.following = scrollHeight - scrollTop - clientHeight < 8;
    }
  }

  private scrollToEnd(): void {
    if (this.following) {
      this.screen.scrollTop = this.screen.scrollHeight;
    }
  }

  private drawEarlier(block: OutputBlock): void {
    const key = `${block.earlier} ${block.full_output}`;
    if (key === this.earlierKey) {
      return;
    }
    this.earlierKey = key;
    const { trans } = this.context;
    const count = trans._n('⋯ %1 earlier line', '⋯ %2 earlier lines', block.earlier, block.earlier.toLocaleString());
    const parts: Node[] = block.earlier ? [element('span', '', count)] : [];
    if (block.full_output) {
      parts.push(placeLink(this.context, trans.__('open full output'), block.full_output, null));
    }
    this.earlier.replaceChildren(...parts.flatMap((part, i) => (i ? [' · ', part] : [part])));
  }

  private removeEarlier(first: number): void {
    const count = Math.min(Math.max(first - this.first, 0), this.keys.length);
    this.first = first;
    this.keys.splice(0, count);
    for (let i = 0; i < count; i++) {
      this.lines.firstChild?.remove();
    }
  }

  private drawChanged(lines: OutputBlock['lines']): void {
    const keys = lines.map(line => JSON.stringify(line));
    lines.forEach((line, i) => {
      if (keys[i] !== this.keys[i]) {
        const fresh = element('div', '', ...drawSpans(line), '\n');
        const old = this.lines.childNodes[i];
        old ? old.replaceWith(fresh) : this.lines.append(fresh);
      }
    });
    while (this.lines.childNodes.length > lines.length) {
      this.lines.lastChild?.remove();
    }
    this.keys = keys;
  }
}
