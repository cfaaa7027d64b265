import { element, linkButton, setText } from './element.js';

/** A button of the foot; `key` is what makes it the same button after an update. */
export interface FootButton {
  readonly key: string;
  readonly label: string;
  readonly title: string;
  /** Null where it cannot work; the title says why. */
  readonly run: (() => void) | null;
  readonly expanded?: boolean;
}

export interface FootContent {
  readonly cancel: FootButton | null;
  readonly record: string;
  readonly note: string;
  readonly links: readonly FootButton[];
}

/** The card's last line: what can be done, what was decided.  Buttons that stay keep their nodes, and so their focus. */
export class FootView {
  readonly node = element('div', 'nbtools-foot');
  private readonly record = element('span', 'nbtools-record');
  private readonly note = element('span', 'nbtools-note');
  private readonly buttons = new Map<string, { node: HTMLButtonElement; run: () => void }>();

  update(content: FootContent): void {
    setText(this.record, content.record);
    setText(this.note, content.note);
    const cancel = content.cancel ? [this.button(content.cancel, 'nbtools-button')] : [];
    const links = content.links.map(link => this.button(link, 'nbtools-link'));
    const wanted = [...cancel, this.record, element('span', 'nbtools-space'), this.note, ...links];
    const kept = new Set<Node>(wanted);
    [...this.node.childNodes].filter(node => !kept.has(node)).forEach(node => node.remove());
    wanted.forEach((node, i) => this.node.childNodes[i] !== node && this.node.insertBefore(node, this.node.childNodes[i] ?? null));
    this.node.hidden = !cancel.length && !links.length && !content.record && !content.note;
  }

  private button(content: FootButton, className: string): HTMLButtonElement {
    const known = this.buttons.get(content.key) ?? this.create(content.key, className);
    known.run = content.run ?? (() => undefined);
    setText(known.node, content.label);
    known.node.title = content.title;
    known.node.setAttribute('aria-disabled', String(content.run === null));
    if (content.expanded !== undefined) {
      known.node.setAttribute('aria-expanded', String(content.expanded));
    }
    return known.node;
  }

  private create(key: string, className: string): { node: HTMLButtonElement; run: () => void } {
    const entry = { node: linkButton('', () => entry.run()), run: () => undefined };
    entry.node.className = className;
    this.buttons.set(key, entry);
    return entry;
  }
}
