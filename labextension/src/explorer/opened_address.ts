export const LOG_PARAMETER = 'agent-log';
export const STEP_PARAMETER = 'agent-step';
/** The beginning of a path that is the id of a listed session. */
export const SESSION = 'session:';
/** Only a session that the kernel lists is opened: the address may come from somebody else. */
const SESSION_PATH = /^session:[0-9a-f]{14}$/;
/** Longer values name no file and no step. */
const LONGEST = 4000;
const LONGEST_STEP = 50;

/** Takes the log and the step out of the page's address, so that they are opened once; null if it names none. */
export function takeOpenedAddress(): readonly [log: string, step: string] | null {
  const opened = parseOpenedAddress(window.location.href);
  opened && window.history.replaceState(window.history.state, '', opened.rest);
  return opened && [opened.log, opened.step];
}

/** Returns the log and the step that an address names, and the address without them; null if it names no log. */
export function parseOpenedAddress(address: string): { log: string; step: string; rest: URL } | null {
  const rest = new URL(address);
  const [log, step] = [LOG_PARAMETER, STEP_PARAMETER].map(name => rest.searchParams.get(name) ?? '') as [string, string];
  [LOG_PARAMETER, STEP_PARAMETER].forEach(name => rest.searchParams.delete(name));
  const path = log.startsWith(SESSION) && !SESSION_PATH.test(log) ? `./${log}` : log;
  return log ? { log: path.slice(0, LONGEST), step: step.slice(0, LONGEST_STEP), rest } : null;
}
