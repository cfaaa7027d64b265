import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';

const QUESTION = '.nbtools-asking';
/** The *Cancel* button of a running call's card. */
const CANCEL = '.nbtools-card .nbtools-foot > .nbtools-button';

interface Question {
  readonly panel: NotebookPanel;
  readonly node: HTMLElement;
}

/** Returns the questions in open notebooks: the current notebook's first, in the order of their cells. */
export function waitingQuestions(notebooks: INotebookTracker): readonly Question[] {
  const questions: Question[] = [];
  notebooks.forEach(panel => panel.node.querySelectorAll<HTMLElement>(QUESTION).forEach(node => questions.push({ panel, node })));
  const isCurrent = ({ panel }: Question) => panel === notebooks.currentWidget;
  return [...questions.filter(isCurrent), ...questions.filter(question => !isCurrent(question))];
}

/** Goes to the question that waits; to the next one if the first has the focus. */
export async function showQuestion(app: JupyterFrontEnd, notebooks: INotebookTracker): Promise<void> {
  const questions = waitingQuestions(notebooks);
  const focused = questions.findIndex(({ node }) => node.contains(document.activeElement));
  const next = questions[(focused + 1) % questions.length];
  next && (await show(app, next));
}

/** Presses a button of the question that is in view, the one with the focus first; a question that is not in view is only shown. */
export async function pressInQuestion(app: JupyterFrontEnd, notebooks: INotebookTracker, button: string): Promise<void> {
  const questions = waitingQuestions(notebooks);
  const inView = questions.filter(({ node }) => isInView(node));
  const seen = inView.find(({ node }) => node.contains(document.activeElement)) ?? inView[0];
  if (seen) {
    seen.node.querySelector<HTMLButtonElement>(button)?.click();
  } else if (questions[0]) {
    await show(app, questions[0]);
  }
}

/** Cancels the call that runs in a notebook, the last one if there are several. */
export function stopCall(panel: NotebookPanel): void {
  [...panel.node.querySelectorAll<HTMLButtonElement>(CANCEL)].at(-1)?.click();
}

async function show(app: JupyterFrontEnd, { panel, node }: Question): Promise<void> {
  app.shell.activateById(panel.id);
  const { content } = panel;
  const index = content.widgets.findIndex(cell => cell.node.contains(node));
  if (index >= 0) {
    content.activeCellIndex = index;
    await content.scrollToItem(index);
  }
  node.scrollIntoView({ block: 'nearest' });
  (node.querySelector<HTMLElement>('[data-nbtools-safe]') ?? node.querySelector<HTMLElement>('.nbtools-cancel'))?.focus();
}

/** Whether the head of a question, and with it what it is about, is visible. */
function isInView(node: HTMLElement): boolean {
  const { left, top, width, height } = node.getBoundingClientRect();
  const seen = height > 0 && document.elementFromPoint(left + width / 2, top + Math.min(height / 2, 20));
  return seen instanceof Element && node.contains(seen);
}
