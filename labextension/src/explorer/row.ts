import type { TranslationBundle } from '@jupyterlab/translation';
import { element, setText } from '../shared/element.js';
import { icon } from '../shared/icons.js';
import { drawSpans, plainText } from '../cards/highlighting.js';
import type { Span } from '../cards/model.js';
import type { Amount, LogRow } from './log_rows.js';
import type { TraceMark } from './model.js';

const NO_MARKS: readonly TraceMark[] = [];
const NO_SPANS: readonly Span[] = [];
/** What the list is sorted by: `text` is short, and never cut. */
const NO_AMOUNT: Amount = { text: '', detail: '' };

/** Maximum number of indentation levels; deeper lines are not indented further. */
const MAX_DEPTH = 8;

/** A row of the list.  Its nodes are reused for other lines. */
export class RowView {
  readonly node = element('div', 'nbtools-trace-row');
  private readonly number = element('span', 'nbtools-trace-number');
  private readonly amount = element('span', 'nbtools-trace-amount');
  private readonly iconSlot = element('span', 'nbtools-trace-sign');
  private readonly name = element('span', 'nbtools-trace-name');
  private readonly subject = element('span', 'nbtools-trace-subject');
  private readonly marks = element('span', 'nbtools-trace-marked');
  private readonly added = element('span', 'nbtools-plus');
  private readonly removed = element('span', 'nbtools-minus');
  private readonly right = element('span', 'nbtools-trace-right');
  private readonly arrow = element('span', 'nbtools-trace-fold');
  private drawn: LogRow | null | undefined;
  private drawnMarks = NO_MARKS;
  private excerpt = NO_SPANS;
  private amounts = NO_AMOUNT;
  private folded = false;
  private drawnIcon = '';

  constructor(private readonly trans: TranslationBundle) {
    this.arrow.setAttribute('aria-hidden', 'true');
    const { number, amount, iconSlot, name, subject, marks, added, removed, right, arrow } = this;
    this.node.append(number, amount, iconSlot, name, subject, marks, added, removed, right, arrow);
  }

  /** Shows a line; null while it is being loaded.  `amount` is what the list is sorted by, `excerpt` is shown in place of its subject. */
  update(line: LogRow | null, folded: boolean, amount = NO_AMOUNT, excerpt = NO_SPANS, marks = NO_MARKS): void {
    const isSameAmount = amount.text === this.amounts.text && amount.detail === this.amounts.detail;
    if (line === this.drawn && folded === this.folded && isSameAmount && excerpt === this.excerpt && marks === this.drawnMarks) {
      return;
    }
    if (marks !== this.drawnMarks) {
      this.drawnMarks = marks;
      this.marks.replaceChildren(...marks.map(mark => this.mark(mark)));
    }
    this.drawn = line;
    this.folded = folded;
    this.amounts = amount;
    this.excerpt = excerpt;
    this.node.classList.toggle('nbtools-trace-empty', line === null);
    line === null ? this.blank() : this.draw(line);
  }

  private blank(): void {
    [this.number, this.amount, this.name, this.subject, this.added, this.removed, this.right, this.arrow].forEach(part =>
      setText(part, '')
    );
    this.iconSlot.replaceChildren();
    this.drawnIcon = '';
    this.node.setAttribute('aria-label', this.trans.__('Loading…'));
  }

  private draw(line: LogRow): void {
    const { node } = this;
    node.dataset['tone'] = line.tone;
    node.classList.toggle('nbtools-trace-said', !line.call);
    node.classList.toggle('nbtools-trace-left', !line.live);
    node.style.setProperty('--nbtools-depth', String(Math.min(line.depth, MAX_DEPTH)));
    node.title = line.live ? '' : this.trans.__('Rewound: the session continued from an earlier step.');
    this.drawIcon(line.icon);
    this.drawSubject(line);
    setText(this.number, line.number);
    setText(this.name, line.name);
    this.name.title = line.name;
    setText(this.added, line.added ? `+${line.added.toLocaleString()}` : '');
    setText(this.removed, line.removed ? `−${line.removed.toLocaleString()}` : '');
    const { text, detail } = this.amounts;
    setText(this.amount, text);
    this.amount.title = detail;
    setText(this.right, [detail, ...line.right.split(' · ').filter(part => part !== text)].filter(Boolean).join(' · '));
    setText(this.arrow, line.below ? (this.folded ? '▸' : '▾') : '');
    node.setAttribute('aria-label', this.ariaLabel(line));
  }

  private mark({ tone, text, title }: TraceMark): HTMLElement {
    const mark = element('span', 'nbtools-trace-mark', text);
    mark.dataset['tone'] = tone;
    mark.title = title;
    return mark;
  }

  private drawIcon(name: string): void {
    if (this.drawnIcon !== name) {
      this.drawnIcon = name;
      this.iconSlot.replaceChildren(icon(name));
    }
  }

  private drawSubject(line: LogRow): void {
    if (this.excerpt.length) {
      this.subject.replaceChildren(...drawSpans(this.excerpt));
    } else {
      this.subject.replaceChildren(...pathNodes(line.subject));
    }
    this.subject.title = line.subject;
  }

  private ariaLabel(line: LogRow): string {
    const { trans } = this;
    const author = { person: trans.__('person'), agent: trans.__('agent') }[line.tone as string] ?? '';
    const rewound = line.live ? '' : trans.__('rewound');
    const nested = line.below ? (this.folded ? trans.__('collapsed') : trans.__('expanded')) : '';
    const text = this.excerpt.length ? plainText(this.excerpt) : line.subject;
    return [
      line.number,
      this.amounts.text,
      line.name || author,
      text,
      this.added.textContent,
      this.removed.textContent,
      this.right.textContent,
      ...this.drawnMarks.map(({ text: mark }) => mark),
      rewound,
      nested
    ]
      .filter(Boolean)
      .join(', ');
  }
}

/** Splits a path into folders and file name: the folders are truncated first. */
function pathNodes(subject: string): (Node | string)[] {
  const [, folders, name] = /^(\S*\/)([^\s/]+)$/.exec(subject) ?? [];
  return folders && name ? [element('span', 'nbtools-trace-folders', folders), element('span', 'nbtools-trace-last', name)] : [subject];
}
