import type { TranslationBundle } from '@jupyterlab/translation';
import { element } from '../shared/element.js';
import type { FormField } from './model.js';

let legendCount = 0;

/** One question of a form: radio buttons or checkboxes, with a free text beside them, or a text alone. */
export class FieldView {
  readonly node = element('fieldset', 'nbtools-ask-field');
  private readonly boxes: HTMLInputElement[];
  private readonly text: HTMLInputElement | HTMLTextAreaElement | null;

  constructor(
    private readonly field: FormField,
    private readonly trans: TranslationBundle
  ) {
    const legend = this.legend();
    this.boxes = field.options.map(({ value }) => this.box(value, legend.id));
    this.text = field.options.length ? (field.other ? this.otherText() : null) : this.textArea(legend.id);
    if (field.options.length && !field.several) {
      this.node.setAttribute('role', 'radiogroup');
      this.node.setAttribute('aria-labelledby', legend.id);
    }
    this.node.append(legend, ...this.boxes.map((box, i) => this.label(box, i)), ...(this.text ? [this.text] : []));
    this.node.addEventListener('input', event => this.onInput(event));
  }

  /** The answer so far; empty if there is none. */
  get answer(): string {
    const chosen = this.boxes.filter(box => box.checked).map(box => box.value);
    return [...chosen, this.text?.value.trim() ?? ''].filter(part => part !== '').join(', ');
  }

  get isComplete(): boolean {
    return this.field.optional || this.answer !== '';
  }

  /** The control to be focused first: the chosen one, else the first. */
  get control(): HTMLElement {
    return this.boxes.find(box => box.checked) ?? this.boxes[0] ?? this.text!;
  }

  private legend(): HTMLLegendElement {
    const { header, text, optional } = this.field;
    const legend = element('legend', 'nbtools-ask-question', ...(header ? [element('b', '', header), ' · '] : []), text);
    legend.id = `nbtools-asked-${Date.now().toString(36)}-${(legendCount += 1)}`;
    if (optional) {
      legend.append(' ', element('span', 'nbtools-quiet', this.trans.__('(optional)')));
    }
    return legend;
  }

  private box(value: string, group: string): HTMLInputElement {
    const box = element('input');
    const { several, default: preset } = this.field;
    box.type = several ? 'checkbox' : 'radio';
    box.name = group;
    box.value = value;
    box.checked = several ? `, ${preset}, `.includes(`, ${value}, `) : preset === value;
    return box;
  }

  private label(box: HTMLInputElement, index: number): HTMLLabelElement {
    const { label, description } = this.field.options[index]!;
    const about = description ? [element('span', 'nbtools-quiet', description)] : [];
    return element('label', 'nbtools-ask-choice', box, element('span', '', element('span', 'nbtools-ask-label', label), ...about));
  }

  private otherText(): HTMLInputElement {
    const text = element('input', 'nbtools-ask-other');
    const { several, default: preset, options } = this.field;
    text.type = 'text';
    text.placeholder = this.trans.__('Something else');
    text.setAttribute('aria-label', this.trans.__('Something else'));
    text.value = several || options.some(({ value }) => value === preset) ? '' : preset;
    return text;
  }

  private textArea(legendId: string): HTMLTextAreaElement {
    const text = element('textarea', 'nbtools-ask-text');
    text.rows = 2;
    text.placeholder = this.field.placeholder || this.trans.__('Your answer');
    text.setAttribute('aria-labelledby', legendId);
    text.value = this.field.default;
    return text;
  }

  /** A single choice and the free text exclude each other. */
  private onInput({ target }: Event): void {
    if (this.field.several || this.boxes.length === 0 || this.text === null) {
      return;
    }
    if (target !== this.text) {
      this.text.value = '';
    } else if (this.text.value.trim()) {
      this.boxes.forEach(box => (box.checked = false));
    }
  }
}
