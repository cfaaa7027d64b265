import type { TranslationBundle } from '@jupyterlab/translation';
import { element, linkButton } from '../shared/element.js';
import type { TraceChangedFile, TraceChanges } from './model.js';

export interface ChangesEvents {
  /** Shows the diff of a file over the session. */
  openFile(path: string): void;
  goToLine(line: number): void;
  close(): void;
}

/** The files that a session changed, in place of the list of steps. */
export class ChangesView {
  readonly node = element('div', 'nbtools-trace-changes');

  constructor(
    private readonly trans: TranslationBundle,
    private readonly events: ChangesEvents
  ) {
    this.node.hidden = true;
    this.node.setAttribute('role', 'group');
    this.node.setAttribute('aria-label', trans.__('Changed files'));
  }

  show({ files, total }: TraceChanges): void {
    const { trans } = this;
    const rows = files.map(file => this.row(file));
    const more = total > files.length ? [element('p', 'nbtools-trace-quiet', trans.__('⋯ %1 more files', total - files.length))] : [];
    const back = linkButton(trans.__('‹ all steps'), () => this.events.close());
    const head = element('div', 'nbtools-trace-changes-head', back, this.sums(files));
    this.node.replaceChildren(head, element('ul', '', ...rows), ...more);
    this.node.hidden = false;
  }

  hide(): void {
    this.node.hidden = true;
  }

  /** Marks the file whose diff is shown. */
  mark(path: string): void {
    for (const button of this.node.querySelectorAll<HTMLElement>('[data-path]')) {
      button.dataset['path'] === path ? button.setAttribute('aria-current', 'true') : button.removeAttribute('aria-current');
    }
  }

  focus(): void {
    this.node.querySelector<HTMLElement>('[data-path]')?.focus();
  }

  private sums(files: readonly TraceChangedFile[]): HTMLElement {
    const sum = (of: (file: TraceChangedFile) => number | null) => files.reduce((total, file) => total + (of(file) ?? 0), 0);
    const complete = files.every(file => file.complete);
    return this.counts(
      sum(file => file.added),
      sum(file => file.removed),
      complete
    );
  }

  private counts(added: number | null, removed: number | null, complete: boolean): HTMLElement {
    const node = element('span', 'nbtools-trace-lines');
    if (added !== null || removed !== null) {
      node.append(
        element('span', 'nbtools-plus', `+${(added ?? 0).toLocaleString()}`),
        ' ',
        element('span', 'nbtools-minus', `−${(removed ?? 0).toLocaleString()}`)
      );
    }
    if (!complete) {
      node.append(' ?');
      node.title = this.trans.__('The log does not have the lines of all changes.');
    }
    return node;
  }

  private row(file: TraceChangedFile): HTMLElement {
    const { trans } = this;
    const button = element('button', 'nbtools-trace-file', file.label);
    button.type = 'button';
    button.title = trans.__('Show how the session changed this file: %1', file.label);
    button.dataset['path'] = file.path;
    button.addEventListener('click', () => this.events.openFile(file.path));
    const kind = { new: trans.__('new'), deleted: trans.__('deleted'), renamed: trans.__('renamed') }[file.kind] ?? '';
    const count = trans._n('%1 change', '%2 changes', file.changes, file.changes.toLocaleString());
    const steps = file.steps.map(({ text, line }) =>
      line === null ? text : linkButton(text, () => this.events.goToLine(line), trans.__('Go to step %1', text))
    );
    const details = element(
      'span',
      'nbtools-trace-quiet',
      [kind, count].filter(Boolean).join(' · '),
      ' · ',
      trans.__('steps'),
      ' ',
      ...steps
    );
    return element('li', '', button, this.counts(file.added, file.removed, file.complete), details);
  }
}
