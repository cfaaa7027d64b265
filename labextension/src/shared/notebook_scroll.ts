import type { Notebook } from '@jupyterlab/notebook';

/** Milliseconds in which a notebook must have drawn the cell.  It draws those out of view when the browser has time. */
const DRAW_TIMEOUT = 60_000;
/** Milliseconds in which a notebook may still move a cell that it has drawn. */
const SETTLING = 1000;
/** Milliseconds until a scroll that had no effect is tried again. */
const RETRY = 250;
const INTERACTIONS = ['wheel', 'pointerdown', 'keydown'] as const;

/**
 * Makes a cell active and scrolls to it, again if the notebook moves it away while it draws its other cells.
 * Ends when the person does something in the notebook, and without an effect if there is no such cell.
 */
export async function scrollToCell(content: Notebook, id: string): Promise<void> {
  let interrupted = false;
  const interrupt = () => (interrupted = true);
  INTERACTIONS.forEach(type => content.node.addEventListener(type, interrupt, { capture: true, passive: true }));
  const deadline = performance.now() + DRAW_TIMEOUT;
  let settled = Infinity;
  while (!interrupted && !content.isDisposed && performance.now() < Math.min(settled, deadline)) {
    const index = content.widgets.findIndex(({ model }) => model.id === id);
    if (index >= 0 && !isInView(content.widgets[index]!.node, content.node)) {
      content.activeCellIndex = index;
      await Promise.race([content.scrollToItem(index).catch(() => undefined), wait(RETRY)]);
    } else if (index >= 0) {
      settled = Math.min(settled, performance.now() + SETTLING);
    }
    await new Promise(resolve => requestAnimationFrame(resolve));
  }
  INTERACTIONS.forEach(type => content.node.removeEventListener(type, interrupt, { capture: true }));
}

function wait(milliseconds: number): Promise<void> {
  return new Promise(resolve => window.setTimeout(resolve, milliseconds));
}

/** Whether the beginning of a cell is in the visible part of its notebook. */
function isInView(cell: HTMLElement, notebook: HTMLElement): boolean {
  const [inner, outer] = [cell.getBoundingClientRect(), notebook.getBoundingClientRect()];
  return inner.height > 0 && inner.top >= outer.top && inner.top < outer.bottom;
}
