import { element, setText } from '../shared/element.js';
import { icon } from '../shared/icons.js';
import type { Card } from './model.js';

/** The first line of a card: tool, subject and status.  Only the status is announced to screen readers; the elapsed time changes too often. */
export class HeadView {
  readonly node = element('div', 'nbtools-head');
  private readonly iconSlot = element('span', 'nbtools-sign');
  private readonly tool = element('span', 'nbtools-tool');
  private readonly subject = element('span', 'nbtools-subject');
  private readonly added = element('span', 'nbtools-plus');
  private readonly removed = element('span', 'nbtools-minus');
  private readonly status = element('span', 'nbtools-status');
  private readonly detail = element('span', 'nbtools-detail');
  private drawnIcon = '';

  constructor() {
    this.status.setAttribute('role', 'status');
    const space = element('span', 'nbtools-space');
    this.node.append(this.iconSlot, this.tool, this.subject, this.added, this.removed, space, this.status, this.detail);
  }

  update(card: Card): void {
    if (this.drawnIcon !== card.icon) {
      this.drawnIcon = card.icon;
      this.iconSlot.replaceChildren(icon(card.icon));
    }
    setText(this.tool, card.tool);
    setText(this.subject, card.subject);
    setText(this.added, card.added ? `+${card.added}` : '');
    setText(this.removed, card.removed ? `−${card.removed}` : '');
    setText(this.status, card.status);
    setText(this.detail, card.detail);
    this.subject.title = card.subject;
    this.status.title = card.note;
    this.status.setAttribute('aria-description', card.note);
  }
}
