/** The events of a mouse that have a count of clicks. */
const EVENTS = ['mousedown', 'mouseup', 'click', 'dblclick'] as const;

/**
 * Keeps the rest of a double click from what is under the pointer where the button of `click` was.
 *
 * Call it in the button's listener: what its action adds, removes or scrolls may bring something else there before the second click, which
 * would then take the focus, or be pressed.
 */
export function ignoreMovedClick(click: MouseEvent): void {
  const pressed = click.currentTarget;
  if (click.detail !== 1 || !(pressed instanceof Node)) {
    return; // a key has pressed it, or the second click of a double click
  }
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
