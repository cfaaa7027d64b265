import type { TranslationBundle } from '@jupyterlab/translation';
import { element, linkButton, setText } from '../shared/element.js';
import { RequestFailed, type LogRequests } from './requests.js';
import type { TraceOpened } from './model.js';

/** The location of a line's record in the log file, and its bytes, which are loaded on a click. */
export class RawView {
  readonly node = element('div', 'nbtools-trace-raw');
  private readonly box = element('div', 'nbtools-trace-bytes');
  private readonly toggle: HTMLButtonElement;

  constructor(
    private readonly opened: TraceOpened,
    private readonly requests: LogRequests,
    private readonly trans: TranslationBundle
  ) {
    this.toggle = linkButton('', () => this.open(this.box.hidden));
    this.node.append(opened.raw, ' · ', this.toggle, this.box);
    this.open(false);
  }

  private open(open: boolean): void {
    this.box.hidden = !open;
    setText(this.toggle, open ? this.trans.__('hide') : this.trans.__('show'));
    this.toggle.setAttribute('aria-expanded', String(open));
    if (open && !this.box.querySelector('pre')) {
      void this.fetch();
    }
  }

  private async fetch(): Promise<void> {
    const message = element('div', 'nbtools-trace-quiet', this.trans.__('Loading…'));
    this.box.replaceChildren(message);
    try {
      const { text, note } = await this.requests.ask('trace.raw', { line: this.opened.line });
      const bytes = element('pre', '', text);
      bytes.tabIndex = 0;
      bytes.setAttribute('aria-label', this.trans.__('Raw record of this step'));
      setText(message, note);
      this.box.replaceChildren(bytes, ...(note ? [message] : []));
    } catch (error) {
      if (!(error instanceof RequestFailed)) {
        throw error;
      }
      setText(message, error.message);
    }
  }
}
