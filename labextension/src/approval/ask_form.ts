import { formAction, type FormField, type KeyPress } from './answer_keys.js';

export const FORM = '.nbtools-form';
/** The fields of a form; the first is focused when the form appears. */
export const FORM_FIELD = '.nbtools-ask-field :is(input, textarea)';
const SEND = 'button.nbtools-apply';
const SKIP = 'button.nbtools-cancel';
/** Milliseconds to wait until the kernel has received the entered text; after that, Enter has no effect. */
const SYNC_TIMEOUT = 3000;

let labelCount = 0;

/** Handles a key in a form.  Returns true if the key must not reach Jupyter's shortcuts. */
export function onFormKey(event: KeyboardEvent, form: HTMLElement, key: KeyPress, justFocused: boolean): boolean {
  const target = event.target as HTMLElement;
  const text = target as HTMLInputElement;
  const action = formAction(key, fieldOf(target), Boolean(text.value?.trim()), justFocused);
  if (action !== 'native' && action !== 'pass') {
    event.preventDefault();
  }
  if (action === 'send') {
    send(form);
  } else if (action === 'skip') {
    form.querySelector<HTMLButtonElement>(SKIP)?.click();
  } else if (action === 'leave') {
    form.querySelector<HTMLButtonElement>(SKIP)?.focus();
  }
  return action !== 'pass';
}

/** Delays a click on Answer, as for Enter, until the kernel has received the text entered last. */
export function onFormClick(event: MouseEvent): void {
  const button = (event.target as Element).closest?.<HTMLButtonElement>(SEND);
  const form = button?.closest<HTMLElement>(FORM);
  if (event.isTrusted && button && form && !isSynced(form, button)) {
    event.stopImmediatePropagation();
    send(form);
  }
}

/** Labels the fields of each question with its text, for screen readers. */
export function labelFields(form: Element): void {
  for (const field of form.querySelectorAll('.nbtools-ask-field:not([role])')) {
    const question = field.querySelector('.nbtools-ask-question');
    if (question) {
      question.id ||= `nbtools-asked-${(labelCount += 1)}`;
      field.setAttribute('role', 'group');
      field.setAttribute('aria-labelledby', question.id);
      field.querySelector('.widget-radio-box')?.setAttribute('role', 'radiogroup');
      field.querySelectorAll('.widget-radio-box, textarea').forEach(control => control.setAttribute('aria-labelledby', question.id));
    }
  }
}

function fieldOf(target: HTMLElement): FormField {
  if (target instanceof HTMLInputElement) {
    return target.type === 'radio' || target.type === 'checkbox' ? 'choice' : 'text';
  }
  return target instanceof HTMLTextAreaElement ? 'text' : 'button';
}

/** Presses Answer once the kernel has received all of the form's input.  The kernel confirms by including it in the button's title. */
function send(form: HTMLElement): void {
  const button = form.querySelector<HTMLButtonElement>(SEND);
  if (!button || sendIfSynced(form, button)) {
    return;
  }
  const observer = new MutationObserver(() => sendIfSynced(form, button) && observer.disconnect());
  observer.observe(button, { attributes: true });
  window.setTimeout(() => observer.disconnect(), SYNC_TIMEOUT);
}

function sendIfSynced(form: HTMLElement, button: HTMLButtonElement): boolean {
  const synced = isSynced(form, button);
  if (synced) {
    button.click();
  }
  return synced;
}

function isSynced(form: HTMLElement, button: HTMLButtonElement): boolean {
  const title = button.title.toLowerCase();
  return !button.disabled && [...enteredTexts(form)].every(part => title.includes(part.toLowerCase()));
}

/** Yields the form's input: texts, and the labels of selected choices (the first line; a choice's description is on the second). */
function* enteredTexts(form: HTMLElement): Generator<string> {
  for (const field of form.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>(FORM_FIELD)) {
    if (fieldOf(field) === 'text') {
      yield field.value.trim();
    } else if ((field as HTMLInputElement).checked) {
      yield (field.closest('label')?.textContent ?? '').split(':\n')[0]!.trim();
    }
  }
}
