import type { TranslationBundle } from '@jupyterlab/translation';
import { Unanswered, type Enquiry } from './enquiry.js';
import { keyHint } from './keymap.js';
import type { PanelView } from './panel.js';

/** Milliseconds that a line is chosen before it is asked for: keys that repeat fly past. */
const REST = 60;
/** Milliseconds after which the card of the line before looks as if it were waited for. */
const PATIENCE = 150;

/** Opens the chosen line in the panel; an answer that comes after another choice is dropped. */
export class Opener {
  private line: number | null = null;
  private shown: number | null = null;
  private resting = 0;
  private waiting = 0;

  constructor(
    private readonly enquiry: Enquiry,
    private readonly panel: PanelView,
    private readonly trans: TranslationBundle
  ) {}

  choose(line: number): void {
    if (line === this.line) {
      return;
    }
    this.stop();
    this.line = line;
    this.resting = window.setTimeout(() => void this.open(line), this.shown === null ? 0 : REST);
    this.waiting = window.setTimeout(() => this.panel.wait(true), PATIENCE);
  }

  /** Whether the panel shows the line that is chosen. */
  get settled(): boolean {
    return this.line !== null && this.shown === this.line;
  }

  reset(): void {
    this.stop();
    this.line = this.shown = null;
    this.panel.say(this.trans.__('Choose a step to see all of it.'), keyHint(this.trans));
  }

  stop(): void {
    window.clearTimeout(this.resting);
    window.clearTimeout(this.waiting);
  }

  private async open(line: number): Promise<void> {
    try {
      const opened = await this.enquiry.open(line);
      this.settle(line, () => this.panel.show(opened));
      this.shown = this.line === line ? line : this.shown;
    } catch (error) {
      if (!(error instanceof Unanswered)) {
        throw error;
      }
      this.settle(line, () => this.panel.say(error.message));
      this.line = this.line === line ? null : this.line;
    }
  }

  private settle(line: number, draw: () => void): void {
    if (line === this.line) {
      window.clearTimeout(this.waiting);
      draw();
    }
  }
}
