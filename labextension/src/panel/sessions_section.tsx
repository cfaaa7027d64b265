import type { JSX } from 'react';
import { shortName } from '../shared/path.js';
import { type PanelContext, PanelButton } from './panel_context.js';
import { LIST_SESSIONS, OPEN_LOG } from './recent_logs.js';

/** Opens session logs: one from a dialog, or one of those opened last. */
export function Sessions({ context, chooseLog }: { context: PanelContext; chooseLog: (() => unknown) | null }): JSX.Element {
  const { app, logs, trans } = context;
  const canOpen = app.commands.hasCommand(OPEN_LOG);
  const open = (path: string) => app.commands.execute(OPEN_LOG, { path });
  return (
    <>
      {canOpen && (
        <div className="nbtools-actions">
          <PanelButton label={trans.__('All sessions')} onClick={() => app.commands.execute(LIST_SESSIONS)} />
          {chooseLog && <PanelButton label={trans.__('Open a session log…')} onClick={chooseLog} />}
        </div>
      )}
      {logs.paths.length === 0 ? (
        <p className="nbtools-empty">{trans.__('Logs of agent sessions that you open appear here.')}</p>
      ) : (
        <ul className="nbtools-panel-rows">
          {logs.paths.map(path => (
            <li key={path} className="nbtools-row">
              <PanelButton kind="link" label={shortName(path, null)} title={path} disabled={!canOpen} onClick={() => open(path)} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
