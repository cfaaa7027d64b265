import { untilInput } from '../shared/until_input.js';

const QUESTION = '.nbtools-asking';
const NOTEBOOK = '.jp-NotebookPanel';
/** The control of a question that gets the focus: the safe button, or a form's first field. */
export const SAFE_CONTROL = '[data-nbtools-safe]';
/** The type of the event that moves the focus to a question, dispatched at its node: each question is drawn by a module of its own. */
export const FOCUS_EVENT = 'nbtools-focus-question';
const CELL = '.jp-Cell';
const TEXT_FIELD = 'input:not([type="checkbox"], [type="radio"]), textarea, select, [contenteditable="true"]';
/** Milliseconds after an automatic focus change in which no key answers the question. */
const GRACE = 500;

/** Moves the focus to a question that has appeared, and keeps it in view, unless the person is doing something else. */
export class AutoFocus {
  private focusedAt = -GRACE;
  /** The cell in which the person was before a question of another cell had the focus. */
  private cellBefore: Element | null = null;
  private readonly onPointerDown = (): void => {
    this.focusedAt = -GRACE; // the person has seen the question
    this.rememberCell(); // the notebook activates the clicked cell after this
  };

  constructor(private readonly question: HTMLElement) {
    window.addEventListener('pointerdown', this.onPointerDown, { capture: true, passive: true });
  }

  dispose(): void {
    window.removeEventListener('pointerdown', this.onPointerDown, { capture: true });
  }

  /** Whether the focus was moved so recently that a key is meant for something else. */
  get isRecent(): boolean {
    return performance.now() - this.focusedAt < GRACE;
  }

  /** Shows the question when it has appeared, and moves the focus to its `control` where that disturbs nobody. */
  appear(control: HTMLElement): void {
    this.rememberCell();
    if (mayTakeFocus(this.question)) {
      this.take(control);
    }
  }

  /** Moves the focus to the `control` of the question, and scrolls to it, until the person does something. */
  take(control: HTMLElement): void {
    const { question } = this;
    const focusedAt = (this.focusedAt = performance.now());
    this.rememberCell();
    control.focus({ preventScroll: true });
    void untilInput(() => {
      if (question.isConnected && focusedAt === this.focusedAt) {
        keepFocus(question, control);
        reveal(question);
      }
    });
  }

  /** After the question has gone with the focus in it: moves the focus to the next question, else to the cell where the person was. */
  leave(notebook: HTMLElement | null): void {
    const active = activeElement();
    if (active !== null && active !== document.body) {
      return;
    }
    const next = (notebook ?? document.body).querySelector<HTMLElement>(QUESTION);
    if (next) {
      next.dispatchEvent(new CustomEvent<Element | null>(FOCUS_EVENT, { detail: this.cellBefore }));
    } else {
      const cell = this.cellBefore?.isConnected ? (this.cellBefore as HTMLElement) : null;
      (cell ?? notebook?.querySelector<HTMLElement>('.jp-Notebook'))?.focus({ preventScroll: true });
    }
  }

  /** Takes over the cell to which the focus returns, from the question that was answered before. */
  returnTo(cell: Element | null): void {
    this.cellBefore = cell ?? this.cellBefore;
  }

  private rememberCell(): void {
    const active = notebookOf(this.question)?.querySelector(`${CELL}.jp-mod-active`);
    if (active && !active.contains(this.question)) {
      this.cellBefore = active;
    }
  }
}

/** The notebook that a node is in; null outside JupyterLab and Notebook. */
export function notebookOf(node: Element): HTMLElement | null {
  return node.closest<HTMLElement>(NOTEBOOK);
}

/** Whether an event's target is a text field. */
export function isTextField(target: unknown): boolean {
  return target instanceof Element && target.closest(TEXT_FIELD) !== null;
}

/** Whether the focus may move to a question: the page has it, the person neither types, nor answers another question, nor is elsewhere. */
function mayTakeFocus(question: HTMLElement): boolean {
  const active = activeElement();
  if (!document.hasFocus() || active?.closest(QUESTION)) {
    return false;
  }
  if (active === null || active === document.body) {
    return true;
  }
  const notebook = notebookOf(question);
  return (notebook === null || notebook.contains(active)) && !(isTextField(active) && hasText(active));
}

function hasText(field: Element): boolean {
  return (
    (field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement ? field.value : (field.textContent ?? '')).trim() !== ''
  );
}

/** Moves the focus back to the question if the notebook has moved it to the next cell, which can happen after the question appears. */
function keepFocus(question: HTMLElement, control: HTMLElement): void {
  if (!question.contains(activeElement()) && mayTakeFocus(question)) {
    control.focus({ preventScroll: true });
  }
}

/** The focused element, also inside shadow roots. */
function activeElement(): Element | null {
  let active = document.activeElement;
  while (active?.shadowRoot?.activeElement) {
    active = active.shadowRoot.activeElement;
  }
  return active;
}

/** Scrolls as little as possible to show the question, or at least its head if it does not fit. */
function reveal(question: HTMLElement): void {
  question.scrollIntoView({ block: 'nearest' });
  question.querySelector('.nbtools-head')?.scrollIntoView({ block: 'nearest' });
}
