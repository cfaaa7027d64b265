import { element, linkButton, setText } from '../shared/element.js';

/** A button in the foot; `key` identifies it across updates. */
export interface FootButton {
  readonly key: string;
  readonly label: string;
  readonly title: string;
  /** Null if the button is disabled; the title says why. */
  readonly run: (() => void) | null;
  readonly expanded?: boolean;
  readonly pressed?: boolean;
}

export interface FootContent {
  readonly cancel: FootButton | null;
  readonly record: string;
  readonly note: string;
  readonly links: readonly FootButton[];
}

/** The last line of a card: its buttons, its approval record and its note.  Buttons keep their nodes across updates, and with them the focus. */
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
    const nodes = [...cancel, this.record, element('span', 'nbtools-space'), this.note, ...links];
    const current = new Set<Node>(nodes);
    [...this.node.childNodes].filter(node => !current.has(node)).forEach(node => node.remove());
    nodes.forEach((node, i) => this.node.childNodes[i] !== node && this.node.insertBefore(node, this.node.childNodes[i] ?? null));
    this.node.hidden = !cancel.length && !links.length && !content.record && !content.note;
  }

  private button(content: FootButton, className: string): HTMLButtonElement {
    const entry = this.buttons.get(content.key) ?? this.create(content.key, className);
    entry.run = content.run ?? (() => undefined);
    setText(entry.node, content.label);
    entry.node.title = content.title;
    entry.node.setAttribute('aria-disabled', String(content.run === null));
    if (content.expanded !== undefined) {
      entry.node.setAttribute('aria-expanded', String(content.expanded));
    }
    if (content.pressed !== undefined) {
      entry.node.setAttribute('aria-pressed', String(content.pressed));
    }
    return entry.node;
  }

  private create(key: string, className: string): { node: HTMLButtonElement; run: () => void } {
    const entry = { node: linkButton('', () => entry.run()), run: () => undefined };
    entry.node.className = className;
    entry.node.dataset['key'] = key;
    this.buttons.set(key, entry);
    return entry;
  }
}
