import type { TranslationBundle } from '@jupyterlab/translation';
import { element, linkButton, setText } from '../shared/element.js';
import { type LogRequests, RequestFailed } from './requests.js';
import type { Result } from '../shared/channel.js';
import type { ExplorerState } from './state.js';

/** Milliseconds between two requests while the log grows. */
const INTERVAL = 500;
/** Milliseconds without a change, and how old an answer must be from then on: each one costs JupyterLab's page 20 ms for the kernel's status. */
const LATER: readonly (readonly [number, number])[] = [
  [60_000, 1900],
  [10_000, 900]
];
/** The same for a log to which nobody writes any longer. */
const LATER_INTERVAL = 5000;
/** Milliseconds without a change after which the page no longer asks by itself. */
const PATIENCE = 3_600_000;
/** Milliseconds without a reply after which the kernel is reported as busy. */
const BUSY_AFTER = 1000;

export type FollowReply = Result<'trace.follow'>;

/** Asks the kernel what was written to the log, as long as somebody can see the explorer.  The button pauses and resumes it. */
export class Following {
  readonly button = element('button', 'nbtools-trace-follow');
  /** Offers to go on in another file. */
  readonly offer = element('span', 'nbtools-trace-goes-on');
  private paused = false;
  private asking = false;
  private timer = 0;
  private disposed = false;
  private isFresh = false;
  /** Whether the last request has failed. */
  private failed = false;
  /** When the page asked last, and when the log changed last. */
  private asked = 0;
  private changed = 0;
  /** The name of the file that is offered, and of the one that the person has chosen. */
  private offered = '';
  private chosen = '';

  /** `onChange` gets the name of the file that the person has chosen to go on in.  `onTick` is called at each interval, also while paused. */
  constructor(
    private readonly explorer: HTMLElement,
    private readonly trans: TranslationBundle,
    private readonly requests: LogRequests,
    private readonly state: () => ExplorerState,
    private readonly onChange: (reply: FollowReply, log: string) => Promise<void>,
    private readonly onTick: () => void
  ) {
    this.button.type = 'button';
    this.button.hidden = true;
    this.offer.setAttribute('role', 'status');
    this.button.addEventListener('click', () => this.setPaused(!this.paused));
    // The person is back at a log that had been quiet.
    ['pointerenter', 'focusin'].forEach(type => explorer.addEventListener(type, () => void this.askIfDue(LATER_INTERVAL)));
  }

  /** Follows the log of a view; one that is not fresh is requested once. */
  start(fresh: boolean): void {
    this.paused = false;
    this.changed = fresh ? Date.now() : 0;
    this.button.hidden = !fresh;
    this.asked = 0;
    this.isFresh = fresh;
    this.failed = false;
    this.chosen = '';
    this.showOffer('');
    this.draw(false);
    this.schedule();
  }

  /** Asks at once, because the kernel has other lines than the page. */
  catchUp(): void {
    void this.askIfDue(0, true);
  }

  dispose(): void {
    this.disposed = true;
    window.clearTimeout(this.timer);
  }

  private setPaused(paused: boolean): void {
    this.paused = paused;
    this.changed = Date.now();
    this.draw(false);
    void this.askIfDue(0);
  }

  private schedule(): void {
    window.clearTimeout(this.timer);
    this.timer = this.disposed ? 0 : window.setTimeout(() => void this.tick(), INTERVAL);
  }

  private async tick(): Promise<void> {
    const quiet = Date.now() - this.changed;
    if (this.isVisible()) {
      this.onTick();
      if (!this.asked || quiet < PATIENCE) {
        const later = LATER.find(([least]) => quiet >= least)?.[1] ?? 0;
        await this.askIfDue(this.isFresh && !this.failed ? later : LATER_INTERVAL);
      }
    }
    this.schedule();
  }

  private isVisible(): boolean {
    return document.visibilityState === 'visible' && this.explorer.getClientRects().length > 0;
  }

  /** Asks, unless a request is under way, the person has paused, or the last one was less than `age` milliseconds ago. */
  private async askIfDue(age: number, evenPaused = false): Promise<void> {
    if (this.asking || (this.paused && !evenPaused) || this.disposed || Date.now() - this.asked < age) {
      return;
    }
    this.asking = true;
    const log = this.chosen;
    this.chosen = '';
    const busyTimer = window.setTimeout(() => this.draw(true), BUSY_AFTER);
    try {
      const { version, rows } = this.state();
      const reply = await this.requests.ask('trace.follow', { version, log, chips: rows.chips.length });
      this.isFresh = reply.fresh;
      this.button.hidden &&= !reply.fresh;
      this.failed = false;
      if (reply.view && !this.disposed) {
        this.changed = reply.fresh ? Date.now() : this.changed;
        await this.onChange(reply, log);
      }
      this.showOffer(reply.continuation);
      log && !reply.continuation && this.offer.replaceChildren(this.trans.__('The session goes on in %1.', log));
    } catch (error) {
      if (!(error instanceof RequestFailed)) {
        throw error;
      }
      this.failed = true; // the requests have said why; the next one comes later
      log && this.offer.replaceChildren(error.message);
      this.offered = log ? '' : this.offered;
    } finally {
      window.clearTimeout(busyTimer);
      this.asking = false;
      this.asked = Date.now();
      this.draw(false);
    }
  }

  private showOffer(name: string): void {
    if (name !== this.offered) {
      const { trans } = this;
      this.offered = name;
      const follow = linkButton(trans.__('Follow it'), () => this.goOn(name), trans.__('Show that file here, at the same step'));
      this.offer.replaceChildren(...(name ? [trans.__('This session goes on in %1:', name), ' ', follow] : []));
    }
  }

  private goOn(name: string): void {
    this.chosen = name;
    this.paused = false;
    this.asked = 0; // the next interval asks, if a request is under way
    void this.askIfDue(0);
  }

  private draw(busy: boolean): void {
    const { trans, button, paused } = this;
    button.setAttribute('aria-pressed', String(!paused));
    button.setAttribute('aria-busy', String(paused && this.asking));
    setText(button, paused ? trans.__('Paused') : busy ? trans.__('Following: the kernel is busy') : trans.__('Following'));
    button.title = paused ? trans.__('Show new steps as the log is written') : trans.__('Stop showing new steps');
  }
}
