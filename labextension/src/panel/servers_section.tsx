import type { TranslationBundle } from '@jupyterlab/translation';
import type { JSX } from 'react';
import type { ServerRow, ServerParams } from './model.js';
import { Empty, KernelHeading, type KnownKernel, knownKernels, type PanelContext, PanelButton, send } from './panel_context.js';

/** The MCP servers of all kernels. */
export function Servers({ context }: { context: PanelContext }): JSX.Element {
  const kernels = knownKernels(context.states).filter(({ state }) => state.servers.length > 0);
  if (kernels.length === 0) {
    return <Empty context={context} text={context.trans.__('No MCP server is configured. %tools mcp add adds one.')} />;
  }
  return (
    <>
      {kernels.map(kernel => (
        <div key={kernel.kernel}>
          <KernelHeading kernel={kernel} count={kernels.length} />
          <ul className="nbtools-panel-rows">
            {kernel.state.servers.map(server => (
              <Server key={server.name} kernel={kernel} server={server} context={context} />
            ))}
          </ul>
        </div>
      ))}
    </>
  );
}

function Server({ kernel, server, context }: { kernel: KnownKernel; server: ServerRow; context: PanelContext }): JSX.Element {
  const { trans } = context;
  const { tools } = server;
  return (
    <li className="nbtools-row" data-failed={server.failed || undefined}>
      <div className="nbtools-summary">
        <span className="nbtools-what" title={`${server.target}\n${server.source}`}>
          {server.name}
        </span>
        {tools.length > 0 && <span title={tools.join('\n')}>{trans._n('%1 tool', '%1 tools', tools.length, tools.length)}</span>}
        <span className="nbtools-time">{server.state}</span>
      </div>
      {server.problem && <p className="nbtools-problem-text">{server.problem}</p>}
      <div className="nbtools-actions">
        <span className="nbtools-place">{server.trust ? `${server.source} · ${server.trust}` : server.source}</span>
        {server.verbs.map(verb => (
          <PanelButton
            key={verb}
            label={verbLabel(verb, trans)}
            name={`${verbLabel(verb, trans)} ${server.name}`}
            onClick={() => send(context, kernel, 'panel.server', { name: server.name, verb })}
          />
        ))}
      </div>
    </li>
  );
}

function verbLabel(verb: ServerParams['verb'], trans: TranslationBundle): string {
  return {
    connect: trans.__('Connect'),
    disconnect: trans.__('Disconnect'),
    trust: trans.__('Trust…'),
    distrust: trans.__('End trust'),
    enable: trans.__('Enable'),
    disable: trans.__('Disable')
  }[verb];
}
