import { element, setText } from '../shared/element.js';
import { icon } from '../shared/icons.js';
import type { CardContext } from '../shared/tokens.js';
import type { RunHead } from './model.js';

/** States that are announced to screen readers; the status of a running run changes too often. */
const ANNOUNCED_STATES: readonly RunHead['state'][] = ['awaiting_approval', 'success', 'error', 'cancelled'];

/** Milliseconds without an update after which a run is shown as not responding; a live run updates its head every few seconds. */
const SILENCE_TIMEOUT = 20_000;

/** The line above a run: model, status, usage so far, and the Stop button. */
export class RunHeadView {
  readonly node = element('article', 'nbtools-card nbtools-run');
  private readonly model = element('span', 'nbtools-subject');
  private readonly status = element('span', 'nbtools-status');
  private readonly announcement = element('span', 'nbtools-unseen');
  private readonly figures = element('span', 'nbtools-run-figures');
  private readonly stop: HTMLButtonElement;
  private run = '';
  private timer = 0;

  constructor(private readonly context: CardContext) {
    const { trans } = context;
    this.announcement.setAttribute('role', 'status');
    this.stop = element('button', 'nbtools-button nbtools-run-stop', trans.__('Stop'));
    this.stop.type = 'button';
    this.stop.title = trans.__('Stops the run. Changes made so far are kept.');
    this.stop.addEventListener('click', () => this.cancelRun());
    const sign = element('span', 'nbtools-sign', icon('assistant'));
    const tool = element('span', 'nbtools-tool', 'agent');
    const head = element(
      'div',
      'nbtools-head',
      sign,
      tool,
      this.model,
      element('span', 'nbtools-space'),
      this.status,
      this.announcement,
      this.figures,
      this.stop
    );
    this.node.append(head, element('div', 'nbtools-progress'));
  }

  /** Shows the Stop button only if the output is `trusted`. */
  update(part: RunHead, trusted: boolean): void {
    window.clearTimeout(this.timer);
    this.run = part.run;
    this.node.dataset['state'] = part.state;
    this.node.setAttribute('aria-label', this.context.trans.__('agent %1', part.model));
    const live = part.state === 'executing' || part.state === 'awaiting_approval';
    this.node.classList.toggle('nbtools-run-live', live);
    this.timer = live ? window.setTimeout(() => this.onSilence(), SILENCE_TIMEOUT) : 0;
    setText(this.model, part.model);
    this.model.title = part.model;
    setText(this.status, part.status);
    setText(this.announcement, ANNOUNCED_STATES.includes(part.state) ? this.context.trans.__('agent: %1', part.status) : '');
    this.drawFigures(part.figures);
    this.stop.hidden = !part.can_stop || !trusted;
  }

  dispose(): void {
    window.clearTimeout(this.timer);
  }

  /** Called if the kernel has ended, or if its updates do not reach this page since a reload.  The next update reverses it. */
  private onSilence(): void {
    this.node.dataset['state'] = 'cancelled';
    this.node.classList.remove('nbtools-run-live');
    const { trans } = this.context;
    setText(this.status, trans.__('Kernel not responding'));
    this.drawFigures([trans.__('Run %agent to see its state')]);
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

  /** Requests cancellation; the kernel's next update shows the result. */
  private cancelRun(): void {
    this.context.cancel(this.node, this.run);
  }
}
