import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { FollowedKernel } from '../shared/tokens.js';
import { untilInput } from '../shared/until_input.js';

const QUESTION = '.nbtools-asking';
const SAFE = '[data-nbtools-safe], .nbtools-cancel';
/** Milliseconds in which a question must be drawn.  A notebook inserts its cells in batches when the browser has time. */
const DRAW_TIMEOUT = 10_000;

/** Returns the notebook of a kernel that has a cell with this id; else its first notebook. */
export function notebookOf(kernel: FollowedKernel, cell: string): NotebookPanel | null {
  return kernel.panels.find(panel => indexOf(panel, cell) >= 0) ?? kernel.panels[0] ?? null;
}

/** Activates the notebook with a cell, scrolls to the cell, and moves the focus to its question.  Returns whether there is one. */
export async function showCell(app: JupyterFrontEnd, kernel: FollowedKernel, cell: string): Promise<boolean> {
  const panel = notebookOf(kernel, cell);
  if (!panel) {
    return false;
  }
  app.shell.activateById(panel.id);
  const index = indexOf(panel, cell);
  if (index < 0) {
    return false;
  }
  const { content } = panel;
  content.activeCellIndex = index;
  // Out of view, a notebook draws cells when the browser has time; until then, scrolling to one of them waits.
  content.renderCellOutputs(index);
  void content.scrollToItem(index).catch(() => undefined);
  const question = await drawn(() => {
    const node = content.widgets[index]?.node.querySelector<HTMLElement>(QUESTION);
    return node?.isConnected ? node : null;
  });
  if (question) {
    await keepInView(question);
  }
  return question !== null;
}

/** Moves the focus to a question and keeps it in view while its notebook draws other cells, until the person does something. */
async function keepInView(question: HTMLElement): Promise<void> {
  await untilInput(() => {
    if (question.isConnected) {
      // A notebook that was behind another one takes the focus when it is shown.
      question.contains(document.activeElement) || question.querySelector<HTMLElement>(SAFE)?.focus({ preventScroll: true });
      isInView(question) || question.scrollIntoView({ block: 'nearest' });
    }
  });
}

/** Whether the head of a cell's question is visible on the page. */
export function isQuestionInView(kernel: FollowedKernel, cell: string): boolean {
  if (document.visibilityState !== 'visible') {
    return false;
  }
  return kernel.panels.some(panel => {
    const index = panel.isVisible ? indexOf(panel, cell) : -1;
    const nodes = panel.content.widgets[index]?.node.querySelectorAll<HTMLElement>(QUESTION) ?? [];
    return [...nodes].some(isInView);
  });
}

function isInView(node: HTMLElement): boolean {
  const { left, top, width, height } = node.getBoundingClientRect();
  const found = height > 0 && document.elementFromPoint(left + width / 2, top + Math.min(height / 2, 20));
  return found instanceof Element && node.contains(found);
}

function indexOf(panel: NotebookPanel, cell: string): number {
  return cell === '' || panel.isDisposed ? -1 : panel.content.widgets.findIndex(({ model }) => model.id === cell);
}

async function drawn(find: () => HTMLElement | null): Promise<HTMLElement | null> {
  const deadline = performance.now() + DRAW_TIMEOUT;
  let node = find();
  while (!node && performance.now() < deadline) {
    await new Promise(resolve => requestAnimationFrame(resolve));
    node = find();
  }
  return node;
}
