import type { ButtonChoice } from './model.js';

export type Role = ButtonChoice['role'];

/** Keys of an approval request, with the role of the button that each presses. */
const ANSWERS: Readonly<Record<string, Role>> = { y: 'once', a: 'always', f: 'folder', m: 'modify', Escape: 'deny' };

/** The key that presses the button with a role, as shown on it; empty if it has none. */
export const KEY_LABELS: Readonly<Partial<Record<Role, string>>> = {
  once: 'Y',
  always: 'A',
  folder: 'F',
  modify: 'M',
  deny: 'Esc',
  answers: '⏎'
};

export type KeyAction = { readonly press: Role } | 'native' | 'swallow' | 'pass';

export type FormAction = 'send' | 'leave' | 'skip' | 'native' | 'swallow' | 'pass';

export interface KeyPress {
  readonly key: string;
  readonly repeat: boolean;
  readonly modified: boolean;
}

/**
 * Returns what a key does inside an approval request, outside its text fields.
 *
 * Answer keys press their button.  Enter and Space activate the focused button, without reaching Jupyter's shortcuts.  Other letters are
 * swallowed, because in the notebook's command mode they would cut or delete the cell.  Shortly after the focus was moved automatically
 * (`justFocused`), and while a key repeats, no key answers: it was meant for something else.
 */
export function keyAction({ key, repeat, modified }: KeyPress, justFocused: boolean): KeyAction {
  if (modified) {
    return 'pass';
  }
  const answer = ANSWERS[key.length === 1 ? key.toLowerCase() : key];
  const isAction = answer !== undefined || key === 'Enter' || key === ' ';
  if (isAction && (justFocused || repeat)) {
    return 'swallow';
  }
  if (answer !== undefined) {
    return { press: answer };
  }
  return isAction ? 'native' : key.length === 1 ? 'swallow' : 'pass';
}

/** The focused control of a form: a text field, a choice (radio button or checkbox) or a button. */
export type FormField = 'text' | 'choice' | 'button';

/**
 * Returns what a key does inside a question form.
 *
 * Enter sends the form; Shift+Enter in a text field starts a new line.  Esc skips the questions, except in a text field with text, which it
 * only leaves.  Choices keep their native keys, without reaching Jupyter's shortcuts; other letters are swallowed as in `keyAction`.
 */
export function formAction({ key, repeat, modified }: KeyPress, field: FormField, fieldHasText: boolean, justFocused: boolean): FormAction {
  if (modified) {
    return 'pass';
  }
  const isAction = key === 'Enter' || key === 'Escape' || (key === ' ' && field !== 'text');
  const hasText = field === 'text' && fieldHasText;
  if (isAction && (repeat || (justFocused && !hasText))) {
    return 'swallow';
  }
  if (key === 'Escape') {
    return hasText ? 'leave' : 'skip';
  }
  if (key === 'Enter') {
    return field === 'button' ? 'native' : 'send';
  }
  if (field === 'text') {
    return 'pass';
  }
  return key === ' ' || (field === 'choice' && key.startsWith('Arrow')) ? 'native' : key.length === 1 ? 'swallow' : 'pass';
}
