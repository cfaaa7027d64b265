import type { TranslationBundle } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import { StackedPanel, type Widget } from '@lumino/widgets';
import { element, linkButton } from '../shared/element.js';

/** Creates the view of logs, which calls `onPaths` when it shows others from then on. */
export type CreateLogView = (paths: readonly string[], onPaths: (paths: readonly string[]) => void) => Promise<Widget>;

/** The content of a log's tab, whose code is loaded with the page's first explorer. */
export class DeferredLog extends StackedPanel {
  readonly changed = new Signal<this, readonly string[]>(this);

  /** `paths` are paths of the contents API; `changed` emits when the view shows others. */
  constructor(
    public paths: readonly string[],
    private readonly create: CreateLogView,
    private readonly trans: TranslationBundle
  ) {
    super();
    void this.load();
  }

  private async load(): Promise<void> {
    this.node.replaceChildren();
    try {
      const view = await this.create(this.paths, paths => this.changed.emit((this.paths = paths)));
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
