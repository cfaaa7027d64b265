import type { TranslationBundle } from '@jupyterlab/translation';
import { element, linkButton, setText } from '../shared/element.js';
import type { AddedFolder } from './model.js';

/** A button that asks for the path of a folder whose logs are listed from then on. */
export class AddFolderForm {
  readonly node = element('span', 'nbtools-sessions-add');
  private readonly button: HTMLButtonElement;
  private readonly form = element('form');
  private readonly path = element('input', 'nbtools-trace-search');
  private readonly message = element('span');

  /** `add` adds a folder to the list, and returns what was found in it, or the problem. */
  constructor(
    private readonly trans: TranslationBundle,
    private readonly add: (folder: string) => Promise<Pick<AddedFolder, 'problem'> & Partial<AddedFolder>>
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
    const added = await this.add(folder);
    if (added.problem) {
      setText(this.message, added.problem);
    } else {
      this.path.value = '';
      this.toggle(false);
      setText(this.message, this.foundText({ folder, listed: 0, other: 0, endings: '', ...added }));
    }
  }

  /** Says what was found in a folder and what is listed. */
  private foundText({ folder, listed, other, endings }: Omit<AddedFolder, 'problem'>): string {
    const { trans } = this;
    const sessions = trans._n('%1 session in %2 is listed', '%1 sessions in %2 are listed', listed, folder);
    const none = trans.__('No session was found in %1: only files whose names end in %2 are looked at', folder, endings);
    const rest = other > 0 ? trans._n('%1 file is not listed', '%1 files are not listed', other) : '';
    return [listed ? sessions : none, rest].filter(Boolean).join(' · ');
  }
}
