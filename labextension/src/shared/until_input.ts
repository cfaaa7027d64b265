/** What a person does that ends an automatic scroll or change of focus. */
const INPUT_EVENTS = ['wheel', 'pointerdown', 'keydown'] as const;
/** Milliseconds after which something is scrolled into view again, because the notebook scrolls to the next cell. */
const DELAYS = [0, 100, 300, 700];

/** Does something now and a few times more, until the person presses a key, clicks or scrolls. */
export function untilInput(work: () => void): void {
  let isInterrupted = false;
  const interrupt = (): void => {
    isInterrupted = true;
  };
  INPUT_EVENTS.forEach(type => window.addEventListener(type, interrupt, { capture: true, passive: true }));
  DELAYS.forEach(delay => window.setTimeout(() => isInterrupted || work(), delay));
  const stop = (): void => INPUT_EVENTS.forEach(type => window.removeEventListener(type, interrupt, { capture: true }));
  window.setTimeout(stop, Math.max(...DELAYS) + 1);
}
