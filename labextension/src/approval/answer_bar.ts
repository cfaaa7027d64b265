import type { TranslationBundle } from '@jupyterlab/translation';
import { ignoreMovedClick } from '../shared/double_click.js';
import { element } from '../shared/element.js';
import { KEY_LABELS, type Role } from './answer_keys.js';
import { answerLabels } from './labels.js';
import type { ButtonChoice, QuestionData } from './model.js';

/** CSS class of the button with a role. */
const CLASSES: Readonly<Record<Role, string>> = {
  once: 'nbtools-approve',
  always: 'nbtools-always',
  folder: 'nbtools-folder',
  server: 'nbtools-server',
  modify: 'nbtools-modify',
  deny: 'nbtools-cancel',
  answers: 'nbtools-apply'
};
/** Milliseconds after a question has appeared in which a click approves nothing. */
const SETTLING = 500;
/** Characters of a reason; the kernel refuses longer ones. */
const MAX_REASON = 4000;

/** The lower part of a question: its buttons, and the options of their answers. */
export class AnswerBar {
  readonly node = element('div', 'nbtools-answers');
  private readonly buttons: ReadonlyMap<Role, HTMLButtonElement>;
  private readonly rememberBox = element('input');
  private readonly reasonField = element('input', 'nbtools-reason');

  constructor(
    { choices, fields, can_save }: QuestionData,
    private readonly trans: TranslationBundle,
    onPress: (role: Role) => void
  ) {
    this.buttons = new Map(choices.map(choice => [choice.role, this.draw(choice, fields.length > 0, onPress)]));
    const isLasting = can_save && choices.some(({ rules }) => rules.length > 0);
    const options = fields.length ? [] : [...(isLasting ? [this.remember()] : []), this.reasonInput()];
    const granting = choices.filter(({ rules }) => rules.length > 0);
    this.node.append(element('div', 'nbtools-buttons', ...this.buttons.values()));
    granting.length && this.node.append(element('dl', 'nbtools-rules', ...granting.map(choice => this.drawRules(choice))));
    options.length && this.node.append(element('div', 'nbtools-aside', ...options));
  }

  button(role: Role): HTMLButtonElement | undefined {
    return this.buttons.get(role);
  }

  /** Ignores clicks that approve, for a moment: the question has appeared where the person may be clicking, such as on the one before. */
  settle(): void {
    const approving = [...this.buttons].filter(([role]) => role !== 'deny' && role !== 'modify').map(([, button]) => button);
    approving.forEach(button => (button.ariaDisabled = 'true'));
    window.setTimeout(() => approving.forEach(button => (button.ariaDisabled = null)), SETTLING);
  }

  /** Says on the button that approves how many of the changes it approves.  It cannot approve none. */
  showTaken(taken: number, count: number): void {
    const button = this.button('once');
    if (button) {
      const { trans } = this;
      button.disabled = taken === 0;
      button.firstChild!.textContent =
        taken === count ? answerLabels(trans).once : trans._n('Approve %2 of %1 change', 'Approve %2 of %1 changes', count, taken);
    }
    for (const role of ['always', 'folder', 'server'] as const) {
      const always = this.button(role);
      if (always) {
        always.disabled = taken < count;
      }
    }
  }

  get isRemembered(): boolean {
    return this.rememberBox.checked;
  }

  get reason(): string {
    return this.reasonField.value.trim();
  }

  private draw(choice: ButtonChoice, isForm: boolean, onPress: (role: Role) => void): HTMLButtonElement {
    const { role, tip } = choice;
    const button = element('button', `nbtools-choice ${CLASSES[role]}`, this.labelOf(choice, isForm));
    button.type = 'button';
    button.title = tip;
    const key = KEY_LABELS[role];
    if (key) {
      const sign = element('kbd', '', key);
      sign.setAttribute('aria-hidden', 'true');
      button.append(sign);
      button.setAttribute('aria-keyshortcuts', { Esc: 'Escape', '⏎': 'Enter' }[key] ?? key);
    }
    button.addEventListener('click', event => {
      ignoreMovedClick(event);
      button.ariaDisabled || onPress(role);
    });
    return button;
  }

  private labelOf({ role, scope }: ButtonChoice, isForm: boolean): string {
    const labels = answerLabels(this.trans, scope);
    if (role === 'always' || role === 'folder') {
      return scope ? labels.always : labels.tool;
    }
    return isForm && role === 'deny' ? labels.skip : labels[role];
  }

  /** What an "always allow" adds, and what that covers. */
  private drawRules(choice: ButtonChoice): HTMLElement {
    const { trans } = this;
    const term = element('dt', '', this.labelOf(choice, false));
    const rules = choice.rules.flatMap((rule, i) => [...(i ? [', '] : []), element('code', '', rule)]);
    const covers = choice.covers ? [element('div', 'nbtools-covers', choice.covers)] : [];
    const line = element('div', '', trans.__('No further approval for'), ' ', ...rules);
    return element('div', '', term, element('dd', '', line, ...covers));
  }

  private remember(): HTMLElement {
    const { trans, rememberBox } = this;
    rememberBox.type = 'checkbox';
    const label = element('label', 'nbtools-later', rememberBox, trans.__('Remember for this project'));
    label.title = trans.__('“Always allow” then also applies to later sessions in this workspace; %tools grants lists what is remembered');
    return label;
  }

  private reasonInput(): HTMLElement {
    const { trans, reasonField } = this;
    reasonField.type = 'text';
    reasonField.maxLength = MAX_REASON;
    reasonField.placeholder = trans.__('Reason (sent with Deny)');
    reasonField.setAttribute('aria-label', reasonField.placeholder);
    reasonField.title = trans.__('Deny sends this reason to whoever made the call');
    return reasonField;
  }
}
