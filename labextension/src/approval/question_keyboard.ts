import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { FORM_FIELD, FORM, labelFields, onFormClick, onFormKey } from './ask_form.js';
import { keyAction } from './answer_keys.js';

const QUESTION = '.nbtools-asking';
const DENY_BUTTON = '.nbtools-cancel';
const REASON_FIELD = '.nbtools-reason';
const TEXT_FIELD = 'input:not([type="checkbox"]), textarea, select, [contenteditable="true"]';
/** The stylesheet starts this animation on a question's Deny button, editor and fields; its start event signals that they have been drawn. */
const APPEAR_ANIMATION = 'nbtools-appears';
/** Milliseconds after an automatic focus change in which no key answers the question. */
const GRACE = 500;
/** Milliseconds after which a question is scrolled into view again, because the notebook scrolls to the next cell. */
const REVEAL_DELAYS = [0, 100, 300, 700];
/** Milliseconds to wait until an answered question is removed. */
const ANSWER_TIMEOUT = 5000;

/** Keyboard support for approval requests and question forms, which are ipywidgets: moves the focus to them and handles their keys. */
export class QuestionKeyboard {
  private readonly handled = new WeakSet<Element>();
  /** Whether the person has typed into a text field since they last ran a cell. */
  private writing = false;
  private focusedAt = -GRACE;
  /** When the person last pressed a key, clicked or scrolled. */
  private lastInput = 0;

  constructor(private readonly notebooks: INotebookTracker) {}

  /** Adds the event listeners, in the capture phase so that they run before Jupyter's shortcuts. */
  listen(): void {
    window.addEventListener('keydown', event => this.onKey(event), true);
    window.addEventListener('pointerdown', event => (this.writing = inTextField(event.target)), true);
    ['wheel', 'pointerdown', 'keydown'].forEach(type =>
      window.addEventListener(type, () => (this.lastInput = performance.now()), { capture: true, passive: true })
    );
    document.addEventListener('animationstart', event => this.onAppear(event));
    document.addEventListener('click', onFormClick, true);
    document.addEventListener('click', event => this.onClick(event));
  }

  private onKey(event: KeyboardEvent): void {
    const target = event.target as Element;
    this.trackWriting(event);
    const form = target.closest?.<HTMLElement>(FORM);
    if (form) {
      this.onFormKey(event, form);
      return;
    }
    if (inTextField(target)) {
      this.onReasonKey(event);
      return;
    }
    const question = target.closest?.<HTMLElement>(QUESTION);
    if (question) {
      this.onQuestionKey(event, question);
    } else if (target.closest?.('.nbtools-card button') && (event.key === 'Enter' || event.key === ' ')) {
      event.stopImmediatePropagation();
    }
  }

  private trackWriting(event: KeyboardEvent): void {
    if (event.key === 'Enter' && (event.shiftKey || event.ctrlKey || event.altKey || event.metaKey)) {
      this.writing = false;
    } else if (inTextField(event.target) && (event.key.length === 1 || event.key === 'Enter' || event.key === 'Backspace')) {
      this.writing = true;
    }
  }

  private onFormKey(event: KeyboardEvent, form: HTMLElement): void {
    const { key, repeat } = event;
    const modified = event.ctrlKey || event.altKey || event.metaKey || (event.shiftKey && key.length > 1) || event.isComposing;
    if (onFormKey(event, form, { key, repeat, modified }, performance.now() - this.focusedAt < GRACE)) {
      event.stopImmediatePropagation();
    }
  }

  /** Enter in the reason field presses Deny once the kernel has received the whole reason, which it confirms in the button's title. */
  private onReasonKey(event: KeyboardEvent): void {
    const reason = event.target as HTMLInputElement;
    const button = reason.closest(REASON_FIELD) && reason.closest(QUESTION)?.querySelector<HTMLButtonElement>(DENY_BUTTON);
    if (!button || event.key !== 'Enter' || event.shiftKey || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) {
      return;
    }
    event.stopImmediatePropagation();
    event.preventDefault();
    const press = (): boolean => button.title.includes(reason.value.trim()) && (button.click(), true);
    if (!press()) {
      const observer = new MutationObserver(() => press() && observer.disconnect());
      observer.observe(button, { attributes: true });
      window.setTimeout(() => observer.disconnect(), ANSWER_TIMEOUT);
    }
  }

  private onQuestionKey(event: KeyboardEvent, question: HTMLElement): void {
    const modified = event.ctrlKey || event.altKey || event.metaKey || (event.shiftKey && event.key.length > 1);
    const action = keyAction({ key: event.key, repeat: event.repeat, modified }, performance.now() - this.focusedAt < GRACE);
    if (action === 'pass') {
      return;
    }
    event.stopImmediatePropagation();
    if (action !== 'native') {
      event.preventDefault();
    }
    if (typeof action === 'object') {
      question.querySelector<HTMLButtonElement>(`button.${action.press}`)?.click();
    }
  }

  private onAppear(event: AnimationEvent): void {
    const control = event.target as HTMLElement;
    if (event.animationName !== APPEAR_ANIMATION || this.handled.has(control)) {
      return;
    }
    this.handled.add(control);
    labelFields(control.closest(FORM) ?? control);
    labelQuestion(control.closest(QUESTION));
    if (this.mayTakeFocus(control) || this.isBeforeFocused(control)) {
      this.focus(control);
    }
  }

  /** Whether this field precedes the automatically focused field of the same form: widgets are drawn in any order. */
  private isBeforeFocused(control: HTMLElement): boolean {
    const active = document.activeElement;
    const inSameForm = active !== null && control.closest(FORM)?.contains(active) === true;
    return (
      inSameForm && this.lastInput < this.focusedAt && Boolean(control.compareDocumentPosition(active) & Node.DOCUMENT_POSITION_FOLLOWING)
    );
  }

  /** Whether the focus may move here: the notebook is active, and the person is neither typing nor answering another question. */
  private mayTakeFocus(control: HTMLElement): boolean {
    const panel = this.notebooks.currentWidget;
    const active = document.activeElement;
    const elsewhere = active !== null && active !== document.body && !panel?.node.contains(active);
    return panel?.node.contains(control) === true && !elsewhere && !active?.closest(QUESTION) && !this.writing;
  }

  private focus(control: HTMLElement): void {
    this.focusedAt = performance.now();
    control.focus({ preventScroll: true });
    const question = control.closest<HTMLElement>(QUESTION);
    const { focusedAt } = this;
    const revealAgain = (): void => {
      if (question?.isConnected && this.lastInput < focusedAt && focusedAt === this.focusedAt) {
        this.keepFocus(control);
        reveal(question);
      }
    };
    REVEAL_DELAYS.forEach(time => window.setTimeout(revealAgain, time));
  }

  /** Moves the focus back to the question if the notebook has moved it to the next cell, which can happen after the question appears. */
  private keepFocus(control: HTMLElement): void {
    const active = document.activeElement;
    if (active !== control && this.notebooks.currentWidget?.node.contains(active) && !active?.closest(QUESTION)) {
      control.focus({ preventScroll: true });
    }
  }

  /** After an answer, moves the focus to the next question, or to the notebook: it would be lost with the removed button. */
  private onClick(event: MouseEvent): void {
    const question = (event.target as Element).closest?.(QUESTION);
    const panel = question && this.notebooks.find(notebook => notebook.node.contains(question));
    if (!panel) {
      return;
    }
    const outputs = question.closest('.jp-Cell-outputWrapper');
    const observer = new MutationObserver(() => {
      if (!question.isConnected) {
        observer.disconnect();
        outputs?.scrollIntoView({ block: 'nearest' });
        this.focusNext(panel);
      }
    });
    observer.observe(panel.node, { childList: true, subtree: true });
    window.setTimeout(() => observer.disconnect(), ANSWER_TIMEOUT);
  }

  private focusNext(panel: NotebookPanel): void {
    if (document.activeElement !== document.body) {
      return;
    }
    const next = panel.node.querySelector<HTMLElement>(`${QUESTION} ${FORM_FIELD}, ${QUESTION}:not(${FORM}) ${DENY_BUTTON}`);
    next ? this.focus(next) : panel.content.node.focus();
  }
}

/** Scrolls as little as possible to show the question, or at least its head if it does not fit. */
function reveal(question: HTMLElement): void {
  question.scrollIntoView({ block: 'nearest' });
  question.querySelector('.nbt-head')?.scrollIntoView({ block: 'nearest' });
}

/** Labels a question with its head, so that screen readers read it when the focus reaches its buttons. */
function labelQuestion(question: Element | null): void {
  const head = question?.querySelector('.nbt-head')?.textContent;
  if (question && head) {
    question.setAttribute('role', 'group');
    question.setAttribute('aria-label', head.replace(/\s+/g, ' ').trim());
  }
  const reason = question?.querySelector<HTMLInputElement>(`${REASON_FIELD} input`);
  reason?.setAttribute('aria-label', reason.placeholder);
}

function inTextField(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest(TEXT_FIELD) !== null;
}
