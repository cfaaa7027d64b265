/** What a person does that ends an automatic scroll or change of focus. */
const INPUT_EVENTS = ['wheel', 'pointerdown', 'keydown'] as const;
/**
 * The frames in which something is scrolled into view again, because the notebook scrolls to a cell while it draws: 1.5 seconds in all.
 * On a slow machine the notebook's own scrolling is as late as the frames.
 */
const FRAMES = [0, 6, 18, 42, 90];
/** The shortest time of a frame that is counted, in milliseconds: a display of 240 Hz has no less time for all this than one of 60. */
const FRAME_TIME = 12;

/** Does something in the next frame and a few times more, until the person presses a key, clicks or scrolls. */
export async function untilInput(work: () => void): Promise<void> {
  let isInterrupted = false;
  const interrupt = (): void => {
    isInterrupted = true;
  };
  INPUT_EVENTS.forEach(type => window.addEventListener(type, interrupt, { capture: true, passive: true }));
  try {
    let last = -Infinity;
    let frame = 0;
    while (frame <= Math.max(...FRAMES)) {
      const now = await new Promise<number>(resolve => requestAnimationFrame(resolve));
      if (isInterrupted) {
        break;
      }
      if (now - last >= FRAME_TIME) {
        FRAMES.includes(frame) && work();
        last = now;
        frame += 1;
      }
    }
  } finally {
    INPUT_EVENTS.forEach(type => window.removeEventListener(type, interrupt, { capture: true }));
  }
}
