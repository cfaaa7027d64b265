import type { TranslationBundle } from '@jupyterlab/translation';
import { element, linkButton, setText } from '../shared/element.js';
import { isFiltering } from './filter.js';
import type { StepList } from './list.js';
import { listedNews, type ExplorerState } from './state.js';

/** Leads to the steps that came since the person looked; a status for screen readers. */
export class NewSteps {
  readonly node = element('div', 'nbtools-trace-new-steps');
  private readonly button: HTMLButtonElement;

  constructor(
    private readonly list: StepList,
    private readonly trans: TranslationBundle
  ) {
    this.button = linkButton('', () => this.goToEnd());
    this.node.setAttribute('role', 'status');
    this.node.append(this.button);
  }

  update(state: ExplorerState): void {
    const { trans, button, list } = this;
    const count = listedNews(state);
    button.hidden = count === 0 || list.node.hidden || list.isAtEnd;
    const text = isFiltering(state.shown)
      ? trans._n('%1 new step matches the filters', '%1 new steps match the filters', count)
      : trans._n('%1 new step', '%1 new steps', count);
    setText(button, button.hidden ? '' : text);
  }

  private goToEnd(): void {
    this.list.scrollToEnd();
    this.list.node.focus({ preventScroll: true });
    this.button.hidden = true;
    setText(this.button, '');
  }
}
