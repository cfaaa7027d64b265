import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import { FIRST, FORM, nameFields, onFormClick, onFormKey } from './form.js';
import { keyAction } from './keys.js';

const QUESTION = '.nbtools-asking';
const SAFE = '.nbtools-cancel';
const REASON = '.nbtools-reason';
const FIELD = 'input:not([type="checkbox"]), textarea, select, [contenteditable="true"]';
/** The stylesheet starts this animation on a question's safe button, its editor or its fields, which tells us that they came into view. */
const APPEARS = 'nbtools-appears';
/** Milliseconds in which a key in flight must not answer a question that just took the focus. */
const GRACE = 500;
/** Milliseconds after which a question is brought into view again, as the notebook scrolls to the cell that it has gone on to. */
const SETTLING = [0, 100, 300, 700];
/** Milliseconds to wait for an answered question to go away. */
const PATIENCE = 5000;

/** Brings the focus to a question and its keys to its buttons; ipywidgets draws it. */
export class QuestionKeys {
  private readonly seen = new WeakSet<Element>();
  /** Whether the person has turned to writing since they last ran something. */
  private writing = false;
  private focused = -GRACE;
  /** When the person last pressed a key, clicked or scrolled. */
  private acted = 0;

  constructor(private readonly notebooks: INotebookTracker) {}

  /** Listens before Jupyter's own shortcuts, which would take the keys for the notebook. */
  listen(): void {
    window.addEventListener('keydown', event => this.onKey(event), true);
    window.addEventListener('pointerdown', event => (this.writing = inField(event.target)), true);
    ['wheel', 'pointerdown', 'keydown'].forEach(type => window.addEventListener(type, () => (this.acted = performance.now()), { capture: true, passive: true }));
    document.addEventListener('animationstart', event => this.onAppear(event));
    document.addEventListener('click', onFormClick, true);
    document.addEventListener('click', event => this.onClick(event));
  }

  private onKey(event: KeyboardEvent): void {
    const target = event.target as Element;
    this.noteWriting(event);
    const form = target.closest?.<HTMLElement>(FORM);
    if (form) {
      this.fillIn(event, form);
      return;
    }
    if (inField(target)) {
      this.giveReason(event);
      return;
    }
    const question = target.closest?.<HTMLElement>(QUESTION);
    if (question) {
      this.answer(event, question);
    } else if (target.closest?.('.nbtools-card button') && (event.key === 'Enter' || event.key === ' ')) {
      event.stopImmediatePropagation();
    }
  }

  private noteWriting(event: KeyboardEvent): void {
    if (event.key === 'Enter' && (event.shiftKey || event.ctrlKey || event.altKey || event.metaKey)) {
      this.writing = false;
    } else if (inField(event.target) && (event.key.length === 1 || event.key === 'Enter' || event.key === 'Backspace')) {
      this.writing = true;
    }
  }

  private fillIn(event: KeyboardEvent, form: HTMLElement): void {
    const { key, repeat } = event;
    const modified = event.ctrlKey || event.altKey || event.metaKey || (event.shiftKey && key.length > 1) || event.isComposing;
    if (onFormKey(event, form, { key, repeat, modified }, performance.now() - this.focused < GRACE)) {
      event.stopImmediatePropagation();
    }
  }

  /** Enter after a reason is Cancel, as soon as the kernel knows all of it, which the button's title says. */
  private giveReason(event: KeyboardEvent): void {
    const reason = event.target as HTMLInputElement;
    const button = reason.closest(REASON) && reason.closest(QUESTION)?.querySelector<HTMLButtonElement>(SAFE);
    if (!button || event.key !== 'Enter' || event.shiftKey || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) {
      return;
    }
    event.stopImmediatePropagation();
    event.preventDefault();
    const press = (): boolean => button.title.includes(reason.value.trim()) && (button.click(), true);
    if (!press()) {
      const observer = new MutationObserver(() => press() && observer.disconnect());
      observer.observe(button, { attributes: true });
      window.setTimeout(() => observer.disconnect(), PATIENCE);
    }
  }

  private answer(event: KeyboardEvent, question: HTMLElement): void {
    const modified = event.ctrlKey || event.altKey || event.metaKey || (event.shiftKey && event.key.length > 1);
    const action = keyAction({ key: event.key, repeat: event.repeat, modified }, performance.now() - this.focused < GRACE);
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
    const wanting = event.target as HTMLElement;
    if (event.animationName !== APPEARS || this.seen.has(wanting)) {
      return;
    }
    this.seen.add(wanting);
    nameFields(wanting.closest(FORM) ?? wanting);
    nameQuestion(wanting.closest(QUESTION));
    if (this.mayTakeFocus(wanting) || this.isBeforeFocused(wanting)) {
      this.focus(wanting);
    }
  }

  /** Whether this field comes before the one of its form that took the focus by itself: widgets are drawn in any order. */
  private isBeforeFocused(wanting: HTMLElement): boolean {
    const active = document.activeElement;
    const same = active !== null && wanting.closest(FORM)?.contains(active) === true;
    return same && this.acted < this.focused && Boolean(wanting.compareDocumentPosition(active) & Node.DOCUMENT_POSITION_FOLLOWING);
  }

  /** Whether the person looks at this notebook and is neither writing nor answering another question. */
  private mayTakeFocus(wanting: HTMLElement): boolean {
    const panel = this.notebooks.currentWidget;
    const active = document.activeElement;
    const elsewhere = active !== null && active !== document.body && !panel?.node.contains(active);
    return panel?.node.contains(wanting) === true && !elsewhere && !active?.closest(QUESTION) && !this.writing;
  }

  private focus(wanting: HTMLElement): void {
    this.focused = performance.now();
    wanting.focus({ preventScroll: true });
    const question = wanting.closest<HTMLElement>(QUESTION);
    const { focused } = this;
    const settle = (): void => {
      if (question?.isConnected && this.acted < focused && focused === this.focused) {
        this.keepFocus(wanting);
        reveal(question);
      }
    };
    SETTLING.forEach(time => window.setTimeout(settle, time));
  }

  /** The notebook takes the focus for the cell that it has gone on to, sometimes only after the question has appeared. */
  private keepFocus(wanting: HTMLElement): void {
    const active = document.activeElement;
    if (active !== wanting && this.notebooks.currentWidget?.node.contains(active) && !active?.closest(QUESTION)) {
      wanting.focus({ preventScroll: true });
    }
  }

  /** After an answer the focus goes to the next question, or back to the notebook, instead of being lost with the button. */
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
        this.goOn(panel);
      }
    });
    observer.observe(panel.node, { childList: true, subtree: true });
    window.setTimeout(() => observer.disconnect(), PATIENCE);
  }

  private goOn(panel: NotebookPanel): void {
    if (document.activeElement !== document.body) {
      return;
    }
    const next = panel.node.querySelector<HTMLElement>(`${QUESTION} ${FIRST}, ${QUESTION}:not(${FORM}) ${SAFE}`);
    next ? this.focus(next) : panel.content.node.focus();
  }
}

/** Scrolls as little as shows the question, or its head where there is no room for all of it. */
function reveal(question: HTMLElement): void {
  question.scrollIntoView({ block: 'nearest' });
  question.querySelector('.nbt-head')?.scrollIntoView({ block: 'nearest' });
}

/** Those who hear it are told what is asked when the focus comes to its buttons. */
function nameQuestion(question: Element | null): void {
  const asked = question?.querySelector('.nbt-head')?.textContent;
  if (question && asked) {
    question.setAttribute('role', 'group');
    question.setAttribute('aria-label', asked.replace(/\s+/g, ' ').trim());
  }
  const reason = question?.querySelector<HTMLInputElement>(`${REASON} input`);
  reason?.setAttribute('aria-label', reason.placeholder);
}

function inField(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest(FIELD) !== null;
}
