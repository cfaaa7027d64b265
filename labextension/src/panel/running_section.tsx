import { type JSX, useEffect, useState } from 'react';
import { showCell } from './jump.js';
import type { RunningCall } from './model.js';
import { Empty, type KnownKernel, knownKernels, notebookNames, type PanelContext, PanelButton, send } from './panel_context.js';
import { IconNode } from './waiting_section.js';

/** The calls and agent runs in progress, of all kernels. */
export function Running({ context }: { context: PanelContext }): JSX.Element {
  const rows = knownKernels(context.states).flatMap(kernel => kernel.state.running.map(call => ({ kernel, call })));
  if (rows.length === 0) {
    return <Empty context={context} text={context.trans.__('Nothing runs. Calls, background commands and agents appear here.')} />;
  }
  return (
    <ul className="nbtools-panel-rows">
      {rows.map(({ kernel, call }) => (
        <Call key={`${kernel.kernel} ${call.id}`} kernel={kernel} call={call} context={context} />
      ))}
    </ul>
  );
}

function Call({ kernel, call, context }: { kernel: KnownKernel; call: RunningCall; context: PanelContext }): JSX.Element {
  const { trans } = context;
  const [isStopped, setStopped] = useState(false);
  const what = `${call.tool} ${call.subject}`;
  const stop = () => {
    setStopped(true);
    void send(context, kernel, 'panel.stop', { call: call.id });
  };
  return (
    <li className="nbtools-row">
      <div className="nbtools-summary">
        <IconNode name={call.icon} />
        <code>{call.tool}</code>
        <span className="nbtools-what" title={call.subject}>
          {call.subject}
        </span>
        <Elapsed since={call.started - kernel.clockOffset} />
      </div>
      <div className="nbtools-actions">
        <span className="nbtools-place" title={kernel.state.folder}>
          {call.type === 'background' ? trans.__('%1, in the background', notebookNames(kernel)) : notebookNames(kernel)}
        </span>
        {call.cell && (
          <PanelButton label={trans.__('Show')} name={trans.__('Show %1', what)} onClick={() => showCell(context.app, kernel, call.cell)} />
        )}
        <PanelButton
          label={isStopped ? trans.__('Stopping…') : trans.__('Stop')}
          name={trans.__('Stop %1', what)}
          disabled={isStopped}
          onClick={stop}
        />
      </div>
    </li>
  );
}

/** Seconds since a time, updated every second while it is shown. */
function Elapsed({ since }: { since: number }): JSX.Element {
  const [now, setNow] = useState(Date.now() / 1000);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now() / 1000), 1000);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, Math.floor(now - since));
  const text = seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return <span className="nbtools-time">{text}</span>;
}
