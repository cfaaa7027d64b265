import { element } from '../../shared/element.js';
import { drawSpans } from '../highlighting.js';
import type { CardContext } from '../../shared/tokens.js';
import type { OutputBlock } from '../model.js';
import { placeLink, scrollBox, type BlockView } from './block.js';
import { Preview } from './preview.js';

/** The last lines of a terminal.  Unchanged lines keep their nodes, and the view follows the end unless the person has scrolled up. */
export class OutputView implements BlockView<OutputBlock> {
  readonly node = element('div', 'nbtools-output');
  private readonly earlier = element('div', 'nbtools-earlier');
  private readonly screen: HTMLElement;
  private readonly lines = element('pre', 'nbtools-lines');
  private keys: string[] = [];
  private first = 0;
  private earlierKey = '';
  private readonly preview: Preview;
  private block: OutputBlock | null = null;
  /** Whether the view follows the end.  It is stored, because a hidden tab has no scroll position. */
  private following = true;
  private readonly resizeObserver = new ResizeObserver(() => this.scrollToEnd());

  constructor(private readonly context: CardContext) {
    this.screen = scrollBox('nbtools-screen', context.trans.__('Output'));
    this.screen.append(this.lines);
    this.preview = new Preview(context, this.lines, () => this.draw(this.block!));
    this.node.append(this.earlier, this.screen, this.preview.node);
    this.screen.addEventListener('scroll', () => this.onScroll(), { passive: true });
    this.resizeObserver.observe(this.screen);
  }

  update(block: OutputBlock): void {
    this.block = block;
    this.draw(block);
  }

  private draw({ lines, earlier, full_output }: OutputBlock): void {
    const shown = this.preview.shown(lines.length);
    const first = earlier + lines.length - shown;
    this.drawEarlier(first, full_output);
    this.removeEarlier(first);
    this.drawChanged(lines.slice(lines.length - shown));
    this.preview.update(shown, lines.length, earlier + lines.length, '');
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

  private drawEarlier(earlier: number, fullOutput: string): void {
    const key = `${earlier} ${fullOutput}`;
    if (key === this.earlierKey) {
      return;
    }
    this.earlierKey = key;
    const { trans } = this.context;
    const count = trans._n('⋯ %1 earlier line', '⋯ %2 earlier lines', earlier, earlier.toLocaleString());
    const parts: Node[] = earlier ? [element('span', '', count)] : [];
    if (fullOutput) {
      parts.push(placeLink(this.context, trans.__('open full output'), fullOutput, null));
    }
    this.earlier.replaceChildren(...parts.flatMap((part, i) => (i ? [' · ', part] : [part])));
  }

  private removeEarlier(first: number): void {
    if (first < this.first) {
      // The lines before were shown again: all are redrawn.
      this.lines.replaceChildren();
      this.keys = [];
    }
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
