import type { TranslationBundle } from '@jupyterlab/translation';
import { element, linkButton, setText } from '../shared/element.js';
import type { LeftOutFile, LeftOutFiles } from './model.js';

/** The link that says how many files are not listed, and the table of them with the reasons that it unfolds. */
export class LeftOutView {
  readonly link: HTMLButtonElement;
  readonly node = element('section', 'nbtools-sessions-left-out');
  private readonly body = element('div');
  private count = 0;

  /** `ask` requests the files from the kernel, `problemOf` says why a request failed. */
  constructor(
    private readonly trans: TranslationBundle,
    private readonly ask: () => Promise<LeftOutFiles>,
    private readonly problemOf: (error: unknown) => string
  ) {
    const { node } = this;
    this.link = linkButton('', () => void this.toggle());
    this.link.setAttribute('aria-expanded', 'false');
    this.link.hidden = true;
    node.hidden = true;
    node.setAttribute('aria-label', trans.__('Files that are not listed'));
    node.append(
      linkButton(trans.__('Close'), () => void this.toggle(), trans.__('Closes it, as Escape does')),
      this.body
    );
  }

  /** Closes the table, if it is shown and a node is in it or is the link; returns whether it did. */
  closeFrom(node: Node): boolean {
    const isOpen = !this.node.hidden && (this.node.contains(node) || this.link.contains(node));
    isOpen && void this.toggle();
    return isOpen;
  }

  /** Shows how many files are not listed. */
  update(count: number): void {
    const hasChanged = count !== this.count;
    this.count = count;
    this.link.hidden = count === 0;
    setText(this.link, this.trans._n('%1 file is not listed', '%1 files are not listed', count));
    if (hasChanged && !this.node.hidden) {
      void (count === 0 ? this.toggle() : this.load());
    }
  }

  private async toggle(): Promise<void> {
    const { node, link } = this;
    node.hidden = !node.hidden;
    link.setAttribute('aria-expanded', String(!node.hidden));
    if (node.hidden) {
      link.focus();
    } else {
      await this.load();
      node.querySelector('button')?.focus();
    }
  }

  private async load(): Promise<void> {
    try {
      const { files, total } = await this.ask();
      const more = total - files.length;
      const rest = element('p', '', this.trans._n('and %1 other file', 'and %1 other files', more));
      this.body.replaceChildren(this.table(files), ...(more > 0 ? [rest] : []));
    } catch (error) {
      setText(this.body, this.problemOf(error));
    }
  }

  private table(files: readonly LeftOutFile[]): HTMLElement {
    const { trans } = this;
    const row = (cells: readonly string[], tag: 'th' | 'td') => element('tr', '', ...cells.map(text => element(tag, '', text)));
    return element(
      'table',
      '',
      element('thead', '', row([trans.__('File'), trans.__('Agent'), trans.__('Why it is not listed')], 'th')),
      element('tbody', '', ...files.map(({ path, agent, reason }) => row([path, agent, reason], 'td')))
    );
  }
}
