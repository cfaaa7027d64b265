export const LOG_PARAMETER = 'agent-log';
export const STEP_PARAMETER = 'agent-step';
/** Longer values name no file and no step. */
const LONGEST = 4000;

/** Takes the log and the step out of the page's address, so that they are opened once; null if it names none. */
export function takeOpenedAddress(): readonly [log: string, step: string] | null {
  const { searchParams, href } = new URL(window.location.href);
  const log = searchParams.get(LOG_PARAMETER);
  if (!log) {
    return null;
  }
  const step = searchParams.get(STEP_PARAMETER) ?? '';
  const rest = new URL(href);
  [LOG_PARAMETER, STEP_PARAMETER].forEach(name => rest.searchParams.delete(name));
  window.history.replaceState(window.history.state, '', rest);
  return [log.slice(0, LONGEST), step.slice(0, 50)];
}
