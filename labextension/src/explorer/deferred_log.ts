import type { TranslationBundle } from '@jupyterlab/translation';
import { StackedPanel, type Widget } from '@lumino/widgets';
import { element, linkButton } from '../shared/element.js';

/** The content of a log's tab, whose code is loaded with the page's first explorer. */
export class DeferredLog extends StackedPanel {
  /** `paths` are paths of the contents API. */
  constructor(
    readonly paths: readonly string[],
    private readonly create: (paths: readonly string[]) => Promise<Widget>,
    private readonly trans: TranslationBundle
  ) {
    super();
    void this.load();
  }

  private async load(): Promise<void> {
    this.node.replaceChildren();
    try {
      const view = await this.create(this.paths);
      this.isDisposed ? view.dispose() : this.addWidget(view);
    } catch {
      const retry = linkButton(this.trans.__('Try again'), () => void this.load());
      const text = element('p', '', this.trans.__('The explorer could not be loaded. Try again, or reload the page.'));
      const message = element('div', 'nbtools-log-message', text, retry);
      message.setAttribute('role', 'status');
      this.node.replaceChildren(message);
    }
  }
}
