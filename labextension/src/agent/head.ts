import { element, setText } from '../element.js';
import { icon } from '../icons.js';
import type { Surroundings } from '../tokens.js';
import type { RunHead } from './wire.js';

/** States that whoever does not look should hear of; the words of a run at work change too often. */
const ANNOUNCED: readonly RunHead['state'][] = ['awaiting_approval', 'success', 'error', 'cancelled'];

/** Milliseconds after which a run that says nothing is not taken to go on: its head counts on every few seconds. */
const SILENCE = 20_000;

/** The line above a run: whose model, how it stands, what it has used so far, and the button that ends it. */
export class RunHeadView {
  readonly node = element('section', 'nbtools-card nbtools-run');
  private readonly model = element('span', 'nbtools-subject');
  private readonly status = element('span', 'nbtools-status');
  private readonly said = element('span', 'nbtools-unseen');
  private readonly figures = element('span', 'nbtools-run-figures');
  private readonly stop: HTMLButtonElement;
  private run = '';
  private timer = 0;

  constructor(private readonly around: Surroundings) {
    const { trans } = around;
    this.said.setAttribute('role', 'status');
    this.stop = element('button', 'nbtools-button nbtools-run-stop', trans.__('Stop'));
    this.stop.type = 'button';
    this.stop.title = trans.__('Ends the run; what is done stays');
    this.stop.addEventListener('click', () => this.end());
    const sign = element('span', 'nbtools-sign', icon('assistant'));
    const tool = element('span', 'nbtools-tool', 'agent');
    const head = element('div', 'nbtools-head', sign, tool, this.model, element('span', 'nbtools-space'), this.status, this.said, this.figures, this.stop);
    this.node.append(head, element('div', 'nbtools-progress'));
  }

  /** Draws no Stop where the output is not `trusted`. */
  update(part: RunHead, trusted: boolean): void {
    window.clearTimeout(this.timer);
    this.run = part.run;
    this.node.dataset['state'] = part.state;
    this.node.setAttribute('aria-label', this.around.trans.__('agent %1', part.model));
    const live = part.state === 'executing' || part.state === 'awaiting_approval';
    this.node.classList.toggle('nbtools-run-live', live);
    this.timer = live ? window.setTimeout(() => this.miss(), SILENCE) : 0;
    setText(this.model, part.model);
    this.model.title = part.model;
    setText(this.status, part.status);
    setText(this.said, ANNOUNCED.includes(part.state) ? this.around.trans.__('agent: %1', part.status) : '');
    this.drawFigures(part.figures);
    this.stop.hidden = !part.can_stop || !trusted;
  }

  dispose(): void {
    window.clearTimeout(this.timer);
  }

  /** Its kernel has ended, or the page was loaded again meanwhile; a kernel that was only busy with something else speaks up again. */
  private miss(): void {
    this.node.dataset['state'] = 'cancelled';
    this.node.classList.remove('nbtools-run-live');
    const { trans } = this.around;
    setText(this.status, trans.__('No word from the kernel'));
    this.drawFigures([trans.__('%agent shows what became of it')]);
    this.stop.hidden = true;
  }

  private drawFigures(figures: readonly string[]): void {
    while (this.figures.children.length > figures.length) {
      this.figures.lastChild!.remove();
    }
    figures.forEach((figure, i) => {
      const node = (this.figures.children[i] as HTMLElement | undefined) ?? this.figures.appendChild(element('span'));
      setText(node, figure);
    });
  }

  /** The kernel says what comes of it. */
  private end(): void {
    this.around.cancel(this.node, this.run);
  }
}
