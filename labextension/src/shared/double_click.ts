/** The events of a mouse that have a count of clicks. */
const EVENTS = ['mousedown', 'mouseup', 'click', 'dblclick'] as const;

/**
 * Keeps the rest of a double click from what is under the pointer where `pressed` was.
 *
 * Call it when `pressed` is clicked: what its action adds, removes or scrolls may bring something else there before the second click, which
 * would then take the focus, or be pressed.
 */
export function ignoreMovedClick(pressed: Node): void {
  const ignore = (event: MouseEvent): void => {
    if (event.type === 'mousedown' && event.detail < 2) {
      EVENTS.forEach(type => window.removeEventListener(type, ignore, true));
    } else if (event.detail > 1 && !(pressed.isConnected && event.composedPath().includes(pressed))) {
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  };
  EVENTS.forEach(type => window.addEventListener(type, ignore, true));
}
