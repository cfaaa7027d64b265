/** What a person does that ends an automatic scroll or change of focus. */
const INPUT_EVENTS = ['wheel', 'pointerdown', 'keydown'] as const;
/**
 * The frames in which something is scrolled into view again, because the notebook scrolls to a cell while it draws: 1.5 seconds in all.
 * On a slow machine the notebook's own scrolling is as late as the frames.
 */
const FRAMES = [0, 6, 18, 42, 90];

/** Does something in the next frame and a few times more, until the person presses a key, clicks or scrolls. */
export async function untilInput(work: () => void): Promise<void> {
  let isInterrupted = false;
  const interrupt = (): void => {
    isInterrupted = true;
  };
  INPUT_EVENTS.forEach(type => window.addEventListener(type, interrupt, { capture: true, passive: true }));
  for (let frame = 0; frame <= Math.max(...FRAMES); frame += 1) {
    await new Promise(resolve => requestAnimationFrame(resolve));
    if (isInterrupted) {
      break;
    }
    FRAMES.includes(frame) && work();
  }
  INPUT_EVENTS.forEach(type => window.removeEventListener(type, interrupt, { capture: true }));
}
