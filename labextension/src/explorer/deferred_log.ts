import type { TranslationBundle } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import { StackedPanel, type Widget } from '@lumino/widgets';
import { element, linkButton } from '../shared/element.js';

/** Creates the view of logs, which calls `onPaths` when it shows others from then on, or knows their title. */
export type CreateLogView = (paths: readonly string[], onPaths: (paths: readonly string[], label?: string) => void) => Promise<LogWidget>;

interface LogWidget extends Widget {
  openAt(step: string): void;
}

/** The content of a log's tab, whose code is loaded with the page's first explorer. */
export class DeferredLog extends StackedPanel {
  readonly changed = new Signal<this, readonly string[]>(this);
  private view: LogWidget | null = null;
  /** The step at which the view begins once it has been created. */
  private step = '';

  /** `paths` are paths of the contents API; `changed` emits when the view shows others, or knows their title, which is the `label`. */
  constructor(
    public paths: readonly string[],
    public label: string,
    private readonly create: CreateLogView,
    private readonly trans: TranslationBundle
  ) {
    super();
    void this.load();
  }

  /** Goes to a step of the log. */
  openAt(step: string): void {
    this.step = step;
    this.view?.openAt(step);
  }

  private async load(): Promise<void> {
    this.node.replaceChildren();
    try {
      const view = await this.create(this.paths, (paths, label = '') => {
        const isKnown = label !== '' && label === this.label;
        this.label = label;
        isKnown || this.changed.emit((this.paths = paths));
      });
      if (this.isDisposed) {
        view.dispose();
        return;
      }
      this.view = view;
      this.addWidget(view);
      this.step && view.openAt(this.step);
    } catch {
      const retry = linkButton(this.trans.__('Try again'), () => void this.load());
      const text = element('p', '', this.trans.__('The explorer could not be loaded. Try again, or reload the page.'));
      const message = element('div', 'nbtools-log-message', text, retry);
      message.setAttribute('role', 'status');
      this.node.replaceChildren(message);
    }
  }
}
