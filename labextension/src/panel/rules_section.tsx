import type { JSX } from 'react';
import type { RulesState } from './model.js';
import { Empty, KernelHeading, type KnownKernel, knownKernels, type PanelContext, PanelButton, send } from './panel_context.js';

/** The permission mode, the grants and the rules of all kernels. */
export function Rules({ context }: { context: PanelContext }): JSX.Element {
  const kernels = knownKernels(context.states).filter(({ state }) => state.rules !== null);
  if (kernels.length === 0) {
    return <Empty context={context} text={context.trans.__('The rules appear with the first call.')} />;
  }
  return (
    <>
      {kernels.map(kernel => (
        <div key={kernel.kernel}>
          <KernelHeading kernel={kernel} count={kernels.length} />
          <RulesOf kernel={kernel} rules={kernel.state.rules!} context={context} />
        </div>
      ))}
    </>
  );
}

function RulesOf({ kernel, rules, context }: { kernel: KnownKernel; rules: RulesState; context: PanelContext }): JSX.Element {
  const { trans } = context;
  return (
    <>
      <label className="nbtools-mode">
        <span>{trans.__('Mode')}</span>
        <select value={rules.mode} onChange={event => void send(context, kernel, 'panel.mode', { mode: event.target.value })}>
          {rules.modes.map(mode => (
            <option key={mode.name} value={mode.name} title={mode.meaning}>
              {mode.looser ? trans.__('%1 (allows more)…', mode.name) : mode.name}
            </option>
          ))}
        </select>
      </label>
      <p className="nbtools-hint">{rules.modes.find(mode => mode.name === rules.mode)?.meaning}</p>
      <p className="nbtools-heading">{trans.__('Allowed by you')}</p>
      {rules.grants.length === 0 && <p className="nbtools-hint">{trans.__('Nothing yet. “Always allow” in a question adds a grant.')}</p>}
      <ul className="nbtools-panel-rows">
        {rules.grants.map(grant => (
          <li key={grant.rule} className="nbtools-row">
            <code className="nbtools-rule" title={grant.granted_for}>
              {grant.rule}
            </code>
            <div className="nbtools-actions">
              <span className="nbtools-place">
                {grant.covers} · {grant.saved ? trans.__('saved for this project') : trans.__('until the kernel ends')}
              </span>
              <PanelButton
                label={trans.__('Revoke')}
                name={trans.__('Revoke %1', grant.rule)}
                onClick={() => send(context, kernel, 'panel.revoke', { rule: grant.rule })}
              />
            </div>
          </li>
        ))}
      </ul>
      {rules.rules.length > 0 && <p className="nbtools-heading">{trans.__('Rules')}</p>}
      <ul className="nbtools-panel-rows">
        {rules.rules.map((rule, i) => (
          <li key={i} className="nbtools-row" data-off={rule.off || undefined}>
            <code className="nbtools-rule">
              {rule.action} {rule.rule}
            </code>
            <span className="nbtools-place">
              {rule.covers} · {rule.source || trans.__('this session')}
              {rule.off ? ` · ${trans.__('off: the project is not trusted')}` : ''}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}
