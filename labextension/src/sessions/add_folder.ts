import type { TranslationBundle } from '@jupyterlab/translation';
import { element, linkButton, setText } from '../shared/element.js';

/** A button that asks for the path of a folder whose logs are listed from then on. */
export class AddFolderForm {
  readonly node = element('span', 'nbtools-sessions-add');
  private readonly button: HTMLButtonElement;
  private readonly form = element('form');
  private readonly path = element('input', 'nbtools-trace-search');
  private readonly message = element('span');

  /** `add` returns the problem, or an empty text. */
  constructor(
    private readonly trans: TranslationBundle,
    private readonly add: (folder: string) => Promise<string>
  ) {
    this.button = linkButton(trans.__('Add folder…'), () => this.toggle(true), trans.__('Lists the logs of another folder, too'));
    this.path.type = 'text';
    this.path.spellcheck = false;
    this.path.maxLength = 4096;
    this.path.placeholder = trans.__('Path of a folder with logs');
    this.path.setAttribute('aria-label', trans.__('Path of a folder with logs'));
    this.message.setAttribute('role', 'status');
    const submit = element('button', 'nbtools-link', trans.__('Add'));
    submit.type = 'submit';
    this.form.append(
      this.path,
      submit,
      linkButton(trans.__('Cancel'), () => this.toggle(false))
    );
    this.form.hidden = true;
    this.form.addEventListener('submit', event => {
      event.preventDefault();
      void this.submit();
    });
    this.node.append(this.button, this.form, this.message);
  }

  /** Closes the form if a node is in it; returns whether it is. */
  closeFrom(node: Node): boolean {
    const isInside = this.form.contains(node);
    isInside && this.toggle(false);
    return isInside;
  }

  private toggle(open: boolean): void {
    this.form.hidden = !open;
    this.button.hidden = open;
    setText(this.message, '');
    (open ? this.path : this.button).focus();
  }

  private async submit(): Promise<void> {
    const folder = this.path.value.trim();
    if (!folder) {
      return;
    }
    setText(this.message, this.trans.__('Looking…'));
    const problem = await this.add(folder);
    if (problem) {
      setText(this.message, problem);
    } else {
      this.path.value = '';
      this.toggle(false);
      setText(this.message, this.trans.__('The logs of %1 are listed, too.', folder));
    }
  }
}
