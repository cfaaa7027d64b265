import type { TranslationBundle } from '@jupyterlab/translation';
import { element, linkButton, setText } from '../element.js';
import { Unanswered, type Enquiry } from './enquiry.js';
import type { TraceOpened } from './wire.js';

/** Where a line's bytes are, and the bytes themselves one click away. */
export class RawView {
  readonly node = element('div', 'nbtools-trace-raw');
  private readonly box = element('div', 'nbtools-trace-bytes');
  private readonly toggle: HTMLButtonElement;

  constructor(
    private readonly opened: TraceOpened,
    private readonly enquiry: Enquiry,
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
    const said = element('div', 'nbtools-trace-quiet', this.trans.__('loading'));
    this.box.replaceChildren(said);
    try {
      const { text, note } = await this.enquiry.raw(this.opened.line);
      const bytes = element('pre', '', text);
      bytes.tabIndex = 0;
      bytes.setAttribute('aria-label', this.trans.__('The bytes of this step'));
      setText(said, note);
      this.box.replaceChildren(bytes, ...(note ? [said] : []));
    } catch (error) {
      if (!(error instanceof Unanswered)) {
        throw error;
      }
      setText(said, error.message);
    }
  }
}
