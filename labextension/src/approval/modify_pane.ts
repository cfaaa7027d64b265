import type { TranslationBundle } from '@jupyterlab/translation';
import { EDIT_EVENT, END_EVENT, type EditRequest } from '../shared/edit_request.js';
import { element } from '../shared/element.js';
import type { EditableText } from './model.js';

const MIN_ROWS = 3;
const MAX_ROWS = 20;
/** Lines above the first change that are in view. */
const LINES_BEFORE = 4;

/** The pane in which the person modifies a call: an editor of the labextension, where there is one, else a text area. */
export class ModifyPane {
  readonly node = element('div', 'nbtools-modify-pane');
  private readonly host = element('div', 'nbtools-editor-host');
  private text: string;
  private hasEditor = false;

  constructor(
    private readonly editable: EditableText,
    trans: TranslationBundle,
    private readonly submit: (text: string) => void,
    private readonly cancel: () => void
  ) {
    this.text = editable.proposed;
    const update = this.button(trans.__('Update proposal'), 'nbtools-apply', () => this.submit(this.text));
    const back = this.button(trans.__('Back'), 'nbtools-back', cancel);
    this.node.append(element('div', 'nbtools-modify-label', editable.label), this.host, element('div', 'nbtools-buttons', update, back));
  }

  /** Opens the editor.  Call it when the node is attached, because the request for an editor bubbles. */
  open(): void {
    const { original, proposed, path, label } = this.editable;
    const detail: EditRequest = {
      host: this.host,
      original,
      proposed,
      path,
      label,
      onChange: text => (this.text = text),
      onSubmit: () => this.submit(this.text),
      onCancel: () => this.cancel()
    };
    const event = new CustomEvent(EDIT_EVENT, { detail, bubbles: true, cancelable: true, composed: true });
    this.hasEditor = !this.node.dispatchEvent(event);
    if (!this.hasEditor) {
      this.openTextArea();
    }
  }

  dispose(): void {
    this.host.dispatchEvent(new CustomEvent(END_EVENT));
    this.node.remove();
  }

  /** Whether an editor of the labextension handles the keys pressed in a node. */
  handlesKeysOf(target: Node): boolean {
    return this.hasEditor && this.host.contains(target);
  }

  private openTextArea(): void {
    const { original, proposed, label } = this.editable;
    const area = element('textarea', 'nbtools-editor');
    const lines = proposed.split('\n').length;
    area.value = proposed;
    area.rows = Math.min(MAX_ROWS, Math.max(MIN_ROWS, lines + 1));
    area.spellcheck = false;
    area.setAttribute('aria-label', label);
    area.addEventListener('input', () => (this.text = area.value));
    this.host.replaceChildren(area);
    const start = original ? firstDifference(original, proposed) : 0;
    const line = proposed.slice(0, start).split('\n').length - 1;
    area.focus({ preventScroll: true });
    area.setSelectionRange(start, start);
    area.scrollTop = Math.max(0, line - LINES_BEFORE) * (area.scrollHeight / Math.max(1, lines));
    this.node.scrollIntoView({ block: 'nearest' });
  }

  private button(label: string, className: string, onClick: () => void): HTMLButtonElement {
    const button = element('button', `nbtools-choice ${className}`, label);
    button.type = 'button';
    button.addEventListener('click', onClick);
    return button;
  }
}

/** Returns the index of the first character in `after` that differs from `before`. */
export function firstDifference(before: string, after: string): number {
  let index = 0;
  while (index < after.length && before[index] === after[index]) {
    index += 1;
  }
  return index;
}
