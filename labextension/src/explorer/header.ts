import type { IDisposable } from '@lumino/disposable';
import { element, linkButton, setText } from '../shared/element.js';
import type { ExplorerContext } from './explorer_context.js';
import type { TraceFact, TraceView } from './model.js';
import { onRedraw } from './redraws.js';

/** An action on the whole log. */
export type TraceAction = TraceView['actions'][number];

/** The title of the log, its facts in one line, which a button shows whole, and the actions on the whole log. */
export class HeaderView {
  readonly node = element('div', 'nbtools-trace-head');
  private readonly factsNode = element('span', 'nbtools-trace-facts');
  private readonly more = linkButton('', () => this.setOpen(!this.isOpen));
  private readonly redraws: IDisposable;
  private isOpen = false;

  constructor(
    private readonly context: ExplorerContext,
    private readonly following: readonly HTMLElement[],
    private readonly runAction: (action: TraceAction) => void,
    private readonly goToLine: (line: number) => void,
    private readonly showChanges: () => void,
    private readonly showSamples: () => void
  ) {
    this.more.classList.add('nbtools-trace-more');
    this.redraws = onRedraw(this.factsNode, () => this.drawMore());
    this.setOpen(false);
  }

  dispose(): void {
    this.redraws.dispose();
  }

  update(view: TraceView): void {
    const title = element('span', 'nbtools-trace-title', view.title);
    title.title = view.title;
    title.setAttribute('role', 'heading');
    title.setAttribute('aria-level', '2');
    this.node.replaceChildren(title, this.factsNode, this.more, ...this.following, this.links(view));
    this.updateFacts(view);
  }

  /** Shows other facts of the same log. */
  updateFacts({ facts }: TraceView): void {
    const last = facts.length - 1;
    const parts = facts.map((fact, i) => element('span', '', this.fact(fact), i < last ? ' ·' : ''));
    this.factsNode.title = facts.map(({ text }) => text).join(' · ');
    this.factsNode.replaceChildren(...parts.flatMap(part => [part, ' ']));
    this.drawMore();
  }

  private setOpen(isOpen: boolean): void {
    const { trans } = this.context;
    this.isOpen = isOpen;
    this.node.classList.toggle('nbtools-trace-open', isOpen);
    this.more.setAttribute('aria-expanded', String(isOpen));
    setText(this.more, isOpen ? trans.__('less') : trans.__('more'));
    this.more.title = isOpen ? trans.__('Shows the facts in one line') : trans.__('Shows all facts of the log');
    this.drawMore();
  }

  /** Offers to show all facts only where they do not fit into the line. */
  private drawMore(): void {
    const { scrollWidth, clientWidth } = this.factsNode;
    this.more.hidden = !this.isOpen && scrollWidth <= clientWidth + 1;
  }

  private fact({ text, doubt, bad, title }: TraceFact): HTMLElement {
    const node = element('span', bad ? 'nbtools-trace-bad' : '', doubt ? `~ ${text}` : text);
    const note = [title, doubt].filter(Boolean).join('\n');
    node.classList.toggle('nbtools-trace-doubt', doubt !== '');
    if (note) {
      node.title = note;
      node.tabIndex = 0;
      node.setAttribute('role', 'note');
      node.setAttribute('aria-description', note);
    }
    return node;
  }

  private links({ actions, failure, changed, samples }: TraceView): HTMLElement {
    const { trans } = this.context;
    const labels: Record<TraceAction, readonly [string, string]> = {
      compare: [trans.__('compare…'), trans.__('Compares this log with another')],
      notebook: [trans.__('to notebook'), trans.__('Writes a new notebook next to the log, with a cell for each call')],
      share: [trans.__('share…'), trans.__('Writes one HTML file for other people, without secrets')],
      export: [trans.__('export…'), trans.__('Writes the session in a format of other tools, or as tables, without secrets')],
      sql: [trans.__('SQL'), trans.__('Adds a cell that queries this log with SQL')]
    };
    const possible = { compare: this.context.compare, notebook: true, share: true, export: true, sql: this.context.addCell };
    const links = actions
      .filter(action => possible[action])
      .map(action => linkButton(labels[action][0], () => this.runAction(action), labels[action][1]));
    if (changed > 0) {
      links.unshift(linkButton(trans.__('changes'), this.showChanges, trans.__('Lists the files that the session changed')));
    }
    if (samples > 0 && !this.context.isFile) {
      links.unshift(
        linkButton(
          trans.__('samples'),
          this.showSamples,
          trans.__('Lists the samples of the evaluation with input, target, answer and scores')
        )
      );
    }
    if (failure !== null) {
      links.unshift(linkButton(trans.__('first failure'), () => this.goToLine(failure), trans.__('Goes to the first step that failed')));
    }
    return element('span', 'nbtools-trace-links', ...links.flatMap((link, i) => (i ? [' · ', link] : [link])));
  }
}
