import { element, linkButton } from '../element.js';
import type { Desk } from './desk.js';
import type { TraceFact, TraceView } from './wire.js';

/** What log it is, what is known of it, and what can be done with the whole of it. */
export class HeadlineView {
  readonly node = element('div', 'nbtools-trace-head');

  constructor(private readonly desk: Desk) {}

  update(view: TraceView): void {
    const title = element('span', 'nbtools-trace-title', view.title);
    title.title = view.title;
    title.setAttribute('role', 'heading');
    title.setAttribute('aria-level', '2');
    this.node.replaceChildren(title, this.facts(view.facts), this.links(view));
  }

  private facts(facts: readonly TraceFact[]): HTMLElement {
    const last = facts.length - 1;
    const parts = facts.map((fact, i) => element('span', '', this.fact(fact), i < last ? ' ·' : ''));
    return element('span', 'nbtools-trace-facts', ...parts.flatMap(part => [part, ' ']));
  }

  private fact({ text, doubt, bad }: TraceFact): HTMLElement {
    const node = element('span', bad ? 'nbtools-trace-bad' : '', doubt ? `~ ${text}` : text);
    if (doubt) {
      node.classList.add('nbtools-trace-doubt');
      node.title = doubt;
      node.tabIndex = 0;
      node.setAttribute('role', 'note');
      node.setAttribute('aria-description', doubt);
    }
    return node;
  }

  private links({ compare, notebook, sql }: TraceView): HTMLElement {
    const { trans } = this.desk;
    const links = [
      this.link(trans.__('compare…'), compare, false, trans.__('Adds a cell that compares this log with another')),
      this.link(trans.__('to notebook'), notebook, true, trans.__('Writes a notebook in which every call is a cell')),
      this.link(trans.__('SQL'), sql, false, trans.__('Adds a cell that asks this log in SQL'))
    ].flat();
    return element('span', 'nbtools-trace-links', ...links.flatMap((link, i) => (i ? [' · ', link] : [link])));
  }

  private link(label: string, source: string, run: boolean, title: string): HTMLElement[] {
    return source ? [linkButton(label, () => this.desk.addCell(source, run), title)] : [];
  }
}
