import { element } from '../element.js';
import { drawSpans } from '../spans.js';
import type { Surroundings } from '../tokens.js';
import type { OutputBlock } from '../wire.js';
import { placeLink, scrollBox, type BlockView } from './block.js';

/** The tail of a terminal; lines that stay keep their nodes, and the end stays in view while the person has not scrolled away. */
export class OutputView implements BlockView<OutputBlock> {
  readonly node = element('div', 'nbtools-output');
  private readonly earlier = element('div', 'nbtools-earlier');
  private readonly screen: HTMLElement;
  private readonly lines = element('pre', 'nbtools-lines');
  private keys: string[] = [];
  private first = 0;
  private noted = '';
  /** Whether the end is to stay in view; a tab that is hidden has no scroll position to ask. */
  private following = true;
  private readonly watcher = new ResizeObserver(() => this.toEnd());

  constructor(private readonly around: Surroundings) {
    this.screen = scrollBox('nbtools-screen', around.trans.__('Output'));
    this.screen.append(this.lines);
    this.node.append(this.earlier, this.screen);
    this.screen.addEventListener('scroll', () => this.noteScroll(), { passive: true });
    this.watcher.observe(this.screen);
  }

  update(block: OutputBlock): void {
    this.noteEarlier(block);
    this.dropScrolledOff(block.earlier);
    this.drawChanged(block.lines);
    this.toEnd();
  }

  dispose(): void {
    this.watcher.disconnect();
  }

  private noteScroll(): void {
    const { scrollHeight, scrollTop, clientHeight } = this.screen;
    if (clientHeight > 0) {
      this.following = scrollHeight - scrollTop - clientHeight < 8;
    }
  }

  private toEnd(): void {
    if (this.following) {
      this.screen.scrollTop = this.screen.scrollHeight;
    }
  }

  private noteEarlier(block: OutputBlock): void {
    const noted = `${block.earlier} ${block.full_output}`;
    if (noted === this.noted) {
      return;
    }
    this.noted = noted;
    const { trans } = this.around;
    const count = trans._n('⋯ %1 earlier line', '⋯ %2 earlier lines', block.earlier, block.earlier.toLocaleString());
    const parts: Node[] = block.earlier ? [element('span', '', count)] : [];
    if (block.full_output) {
      parts.push(placeLink(this.around, trans.__('open all'), block.full_output, null));
    }
    this.earlier.replaceChildren(...parts.flatMap((part, i) => (i ? [' · ', part] : [part])));
  }

  private dropScrolledOff(first: number): void {
    const gone = Math.min(Math.max(first - this.first, 0), this.keys.length);
    this.first = first;
    this.keys.splice(0, gone);
    for (let i = 0; i < gone; i++) {
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
