import type { TranslationBundle } from '@jupyterlab/translation';
import { element, linkButton, setText } from '../shared/element.js';
import { failureMessage, type LogRequests } from './requests.js';
import type { TraceExportFormat, TraceSecret, TraceShare } from './model.js';

/** Shows what is removed from a session before it is shared as a page or exported in a format of other tools, and writes the file. */
export class SharePanel {
  readonly node = element('section', 'nbtools-trace-share');
  private readonly format = element('select', 'nbtools-trace-menu');
  private readonly about = element('p', '');
  private readonly list = element('ul', 'nbtools-trace-secrets');
  private readonly patterns = element('textarea', 'nbtools-trace-patterns');
  private readonly home = element('input', '');
  private readonly notes = element('input', '');
  private readonly notesLabel: HTMLElement;
  private readonly noteCount = element('span', 'nbtools-trace-quiet');
  private readonly status = element('span', 'nbtools-trace-quiet');
  private readonly write: HTMLButtonElement;
  private readonly keep = new Set<string>();
  /** The formats of other tools, as the kernel names them; empty until its first answer. */
  private formats: readonly TraceExportFormat[] = [];
  /** Whether the first format of another tool is chosen as soon as it is known. */
  private exports = false;
  /** The number of the last request; answers to earlier ones are dropped. */
  private last = 0;
  /** Whether an answer has been shown.  The first one is shown even if it is late: its list stays if the last request fails. */
  private isListed = false;

  constructor(
    private readonly trans: TranslationBundle,
    private readonly requests: LogRequests,
    private readonly onWritten: (path: string) => void,
    /** Gives the focus to what was used before. */
    private readonly leave: () => void
  ) {
    this.write = element('button', 'nbtools-button nbtools-primary');
    this.format.append(new Option(trans.__('HTML page'), 'html'));
    this.format.addEventListener('change', () => {
      this.update();
      void this.request(false);
    });
    this.write.type = 'button';
    this.write.addEventListener('click', () => void this.request(true));
    this.home.type = 'checkbox';
    this.home.checked = true;
    this.home.addEventListener('change', () => void this.request(false));
    this.notes.type = 'checkbox';
    this.notes.addEventListener('change', () => void this.request(false));
    this.patterns.rows = 2;
    this.patterns.spellcheck = false;
    this.patterns.addEventListener('change', () => void this.request(false));
    this.status.setAttribute('role', 'status');
    this.notesLabel = element('label', '', this.notes, trans.__('With the notes and labels of the review'), this.noteCount);
    this.node.hidden = true;
    this.build();
  }

  /** Shows the panel for a page to share or for an export, or hides it if it is shown for that. */
  toggle(action: 'share' | 'export'): void {
    const exports = action === 'export';
    this.node.hidden = !this.node.hidden && exports === (this.format.value !== 'html' || this.exports);
    if (!this.node.hidden) {
      this.keep.clear();
      this.choose(exports);
      void this.request(false);
      this.node.scrollIntoView({ block: 'nearest' });
      (exports ? this.format : this.write).focus();
    }
  }

  private close(): void {
    this.node.hidden = true;
    this.leave();
  }

  private choose(exports: boolean): void {
    const [first] = this.formats;
    this.exports = exports && !first;
    this.format.value = exports && first ? first.name : 'html';
    this.node.setAttribute('aria-label', exports ? this.trans.__('Export this session') : this.trans.__('Share this session'));
    this.update();
  }

  /** Says what the chosen format is. */
  private update(): void {
    const { trans } = this;
    const format = this.formats.find(({ name }) => name === this.format.value);
    // An export says what it is as soon as the kernel has named its formats.
    const page = trans.__('One HTML file with all steps. It needs no kernel and loads nothing. What is listed here is removed from it:');
    const about = format ? `${format.about} ${trans.__('What is listed here is removed from it:')}` : page;
    setText(this.about, this.exports ? '' : about);
    setText(this.write, format || this.exports ? trans.__('Write files') : trans.__('Write HTML file'));
    this.notesLabel.hidden = format?.notes === false;
  }

  private build(): void {
    const { trans } = this;
    this.node.append(
      element('label', '', trans.__('Format'), this.format),
      this.about,
      this.list,
      element('label', '', this.home, trans.__('Home folders and user names become ~')),
      this.notesLabel,
      element('label', '', trans.__('Remove also (regular expressions, one a line)'), this.patterns),
      element(
        'div',
        'nbtools-trace-share-foot',
        this.write,
        linkButton(trans.__('Close'), () => this.close()),
        this.status
      )
    );
    this.update();
  }

  private async request(write: boolean): Promise<void> {
    const { trans } = this;
    const number = ++this.last;
    this.write.disabled = true;
    setText(this.status, trans.__('Searching for secrets…'));
    try {
      const patterns = this.patterns.value.split('\n').filter(line => line.trim() !== '');
      const answer = await this.requests.ask('trace.share', {
        patterns,
        keep: [...this.keep],
        home: this.home.checked,
        notes: this.notes.checked,
        format: this.format.value,
        write
      });
      answer.path && this.onWritten(answer.path); // the file is there, whatever was asked since
      if (number === this.last || !this.isListed) {
        this.isListed = true;
        this.show(answer);
      }
      if (number === this.last) {
        setText(this.status, this.summary(answer));
      }
    } catch (error) {
      if (number === this.last) {
        setText(this.status, failureMessage(error));
      }
    } finally {
      this.write.disabled = number !== this.last;
    }
  }

  private show({ secrets, notes, path, formats }: TraceShare): void {
    if (!this.formats.length) {
      this.formats = formats;
      this.format.append(...formats.map(({ name, label }) => new Option(label, name)));
      this.exports && this.choose(true);
    }
    setText(this.noteCount, `(${notes.toLocaleString()})`);
    if (path) {
      this.close();
    }
    this.list.replaceChildren(...secrets.map(secret => this.item(secret)));
    this.list.hidden = secrets.length === 0;
  }

  private summary({ secrets, size }: TraceShare): string {
    const { trans } = this;
    const found = secrets.length ? '' : trans.__('No secrets found.');
    const length = this.format.value === 'html' && trans.__('The file has %1 kB.', Math.ceil(size / 1000).toLocaleString());
    return [found, length].filter(Boolean).join(' ');
  }

  private item({ id, kind, shown, count, places, kept }: TraceSecret): HTMLElement {
    const box = element('input', '');
    box.type = 'checkbox';
    box.checked = !kept;
    box.addEventListener('change', () => {
      box.checked ? this.keep.delete(id) : this.keep.add(id);
      void this.request(false);
    });
    const where = this.trans._n('in %1 step: %2', 'in %1 steps: %2', count, places);
    return element(
      'li',
      '',
      element('label', '', box, element('b', '', kind), element('code', '', shown), element('span', 'nbtools-trace-quiet', where))
    );
  }
}
