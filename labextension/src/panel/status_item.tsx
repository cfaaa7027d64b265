import type { INotebookTracker } from '@jupyterlab/notebook';
import { ReactWidget } from '@jupyterlab/ui-components';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { JSX } from 'react';
import type { IKernelStates } from '../shared/tokens.js';

/** The status-bar item: how many questions wait, and the mode of the current notebook.  A click goes to the question. */
export class StatusItem extends ReactWidget {
  constructor(
    private readonly states: IKernelStates,
    private readonly notebooks: INotebookTracker,
    private readonly trans: TranslationBundle,
    private readonly open: () => unknown
  ) {
    super();
    this.addClass('nbtools-status-item');
    states.changed.connect(() => this.update());
    notebooks.currentChanged.connect(() => this.update());
  }

  /** Whether nbtools is loaded in a kernel of an open notebook. */
  isActive(): boolean {
    return this.states.current.some(kernel => kernel.loaded);
  }

  protected override render(): JSX.Element {
    const { trans } = this;
    const waiting = this.states.current.reduce((sum, { state }) => sum + (state?.questions.length ?? 0), 0);
    const parts = [
      ...(waiting > 0 ? [trans._n('%1 waiting', '%1 waiting', waiting, waiting)] : []),
      ...(this.mode() === '' ? [] : [trans.__('%1 mode', this.mode())])
    ];
    const text = parts.join(' · ') || 'nbtools';
    const title = waiting > 0 ? trans.__('Go to the question that waits') : trans.__('Open the panel Agents');
    return (
      <button
        type="button"
        className="nbtools-status-button"
        data-waiting={waiting > 0 || undefined}
        title={title}
        onClick={() => this.open()}
      >
        {text}
      </button>
    );
  }

  private mode(): string {
    const current = this.notebooks.currentWidget;
    const kernels = this.states.current;
    const kernel =
      kernels.find(({ panels }) => current !== null && panels.includes(current)) ?? (kernels.length === 1 ? kernels[0] : undefined);
    return kernel?.state?.rules?.mode ?? '';
  }
}
