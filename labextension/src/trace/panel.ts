import { CardView } from '../card.js';
import { element, linkButton, setText } from '../element.js';
import type { Desk } from './desk.js';
import type { Enquiry } from './enquiry.js';
import { RawView } from './raw.js';
import type { TraceAround, TraceLink, TraceOpened } from './wire.js';

/** Milliseconds in which a button says that it has copied. */
const SAID = 1500;

export interface PanelEvents {
  /** Goes to a line of the log. */
  jump(line: number): void;
  /** Lists the steps of a file. */
  follow(path: string): void;
}

/** A line of the log, opened. */
export class PanelView {
  readonly node = element('div', 'nbtools-trace-panel');
  private card: CardView | null = null;
  private again: HTMLButtonElement | null = null;
  private copying: HTMLButtonElement | null = null;

  constructor(
    private readonly desk: Desk,
    private readonly enquiry: Enquiry,
    private readonly events: PanelEvents
  ) {
    this.node.tabIndex = -1;
    this.node.setAttribute('role', 'group');
    this.node.setAttribute('aria-label', desk.trans.__('The chosen step'));
  }

  show(opened: TraceOpened): void {
    this.clear();
    this.card = new CardView(this.desk);
    this.card.update(opened.card);
    this.card.node.append(this.foot(opened));
    this.node.replaceChildren(this.card.node, ...this.around(opened.around));
    if (opened.raw) {
      this.node.append(element('h3', '', this.desk.trans.__('Raw')), new RawView(opened, this.enquiry, this.desk.trans).node);
    }
    this.node.scrollTop = 0;
  }

  /** One calm line where nothing is open; a hint may stand below. */
  say(text: string, hint = ''): void {
    this.clear();
    this.node.replaceChildren(element('p', 'nbtools-trace-quiet', text), ...(hint ? [element('div', 'nbtools-trace-hint', hint)] : []));
  }

  /** What is shown belongs to the line before. */
  wait(waiting: boolean): void {
    this.node.setAttribute('aria-busy', String(waiting));
  }

  runAgain(): void {
    this.again?.click();
  }

  copyTool(): void {
    this.copying?.click();
  }

  dispose(): void {
    this.clear();
  }

  private clear(): void {
    this.card?.dispose();
    this.card = this.again = this.copying = null;
    this.wait(false);
  }

  private foot(opened: TraceOpened): HTMLElement {
    const { trans } = this.desk;
    const foot = element('div', 'nbtools-foot nbtools-trace-foot');
    if (opened.replay || opened.obstacle) {
      this.again = this.againButton(opened);
      foot.append(this.again);
    }
    if (opened.tool) {
      this.copying = this.copyButton(trans.__('Copy as %tool'), opened.tool, 'c');
      foot.append(this.copying);
    }
    if (opened.link) {
      foot.append(this.copyButton(trans.__('Copy link'), opened.link));
    }
    foot.append(element('span', 'nbtools-space'), element('span', 'nbtools-trace-when', opened.foot));
    if (!opened.replay && opened.obstacle) {
      foot.append(element('div', 'nbtools-trace-obstacle', opened.obstacle));
    }
    return foot;
  }

  private againButton({ replay, obstacle }: TraceOpened): HTMLButtonElement {
    const { trans } = this.desk;
    const button = element('button', 'nbtools-button nbtools-primary', trans.__('Run again in a copy'), keySign('r'));
    button.type = 'button';
    button.title = obstacle || trans.__('Adds a cell that runs this call in a throw-away copy of the folder');
    button.disabled = !replay;
    button.addEventListener('click', () => this.desk.addCell(replay, true));
    return button;
  }

  private copyButton(label: string, text: string, key = ''): HTMLButtonElement {
    const { trans } = this.desk;
    const words = element('span', '', label);
    words.setAttribute('aria-live', 'polite');
    const button = element('button', 'nbtools-button', words, ...(key ? [keySign(key)] : []));
    button.type = 'button';
    button.title = text;
    button.addEventListener('click', () => {
      void this.desk.copy(text).then(
        () => flash(words, trans.__('Copied'), label),
        () => flash(words, trans.__('Could not copy'), label)
      );
    });
    return button;
  }

  private around(around: readonly TraceAround[]): HTMLElement[] {
    if (!around.length) {
      return [];
    }
    const list = element('dl', 'nbtools-trace-around');
    for (const { label, parts } of around) {
      list.append(element('dt', '', label), element('dd', '', ...parts.map(part => this.part(part))));
    }
    return [element('h3', '', this.desk.trans.__('Around this step')), list];
  }

  private part({ text, line, path }: TraceLink): Node | string {
    if (line !== null) {
      return linkButton(text, () => this.events.jump(line));
    }
    return path ? linkButton(text, () => this.events.follow(path)) : text;
  }
}

function keySign(key: string): HTMLElement {
  const sign = element('span', 'nbtools-trace-key', key);
  sign.setAttribute('aria-hidden', 'true');
  return sign;
}

function flash(node: HTMLElement, said: string, then: string): void {
  setText(node, said);
  window.setTimeout(() => setText(node, then), SAID);
}
