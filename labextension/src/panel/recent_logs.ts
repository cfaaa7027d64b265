import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Signal } from '@lumino/signaling';

/** The command that opens a session log in a tab of its own. */
export const OPEN_LOG = 'nbtools:open-log';
/** The command that lists the sessions of all agents. */
export const LIST_SESSIONS = 'nbtools:list-sessions';
const KEY = 'nbtools-agent:recent-logs';
const MAX_LOGS = 10;

/** The session logs that were opened last in this browser, the latest first. */
export class RecentLogs {
  readonly changed = new Signal<this, void>(this);
  paths: readonly string[] = stored();

  constructor({ commands }: JupyterFrontEnd) {
    commands.commandExecuted.connect((_, { id, args }) => {
      const { path } = args as { path?: unknown };
      if (id === OPEN_LOG && typeof path === 'string' && path !== '' && !path.startsWith('session:')) {
        this.paths = [path, ...this.paths.filter(other => other !== path)].slice(0, MAX_LOGS);
        localStorage.setItem(KEY, JSON.stringify(this.paths));
        this.changed.emit();
      }
    });
  }
}

function stored(): readonly string[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(value) ? value.filter(path => typeof path === 'string').slice(0, MAX_LOGS) : [];
  } catch {
    return [];
  }
}
