import { MainAreaWidget } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import type { JSX } from 'react';
import { CardView } from '../cards/card.js';
import type { FileChange } from './model.js';
import {
  contextOfCard,
  Empty,
  KernelHeading,
  type KnownKernel,
  knownKernels,
  type PanelContext,
  PanelButton,
  send
} from './panel_context.js';
import { Counts } from './waiting_section.js';

/** The changes of files in the sessions of all kernels, the current notebook's first, newest first. */
export function Changes({ context }: { context: PanelContext }): JSX.Element {
  const current = context.app.shell.currentWidget;
  const isCurrent = ({ panels }: KnownKernel) => panels.some(panel => panel === current);
  const kernels = knownKernels(context.states)
    .filter(({ state }) => state.changes.length > 0)
    .sort((a, b) => Number(isCurrent(b)) - Number(isCurrent(a)));
  if (kernels.length === 0) {
    return <Empty context={context} text={context.trans.__('There is no change to undo. Changes of files by calls appear here.')} />;
  }
  return (
    <>
      {kernels.map(kernel => (
        <div key={kernel.kernel}>
          <KernelHeading kernel={kernel} count={kernels.length} />
          <ul className="nbtools-panel-rows">
            {[...kernel.state.changes].reverse().map((change, i) => (
              <Change key={change.id} kernel={kernel} change={change} isLast={i === 0} context={context} />
            ))}
          </ul>
        </div>
      ))}
    </>
  );
}

interface ChangeProps {
  readonly kernel: KnownKernel;
  readonly change: FileChange;
  readonly isLast: boolean;
  readonly context: PanelContext;
}

function Change({ kernel, change, isLast, context }: ChangeProps): JSX.Element {
  const { trans } = context;
  const [first, ...others] = change.files;
  const count = others.length + change.more;
  const name = first ? first.path : change.tool;
  const undone = change.undone_by !== '';
  const undo = () => send(context, kernel, 'panel.undo', { call: undone ? change.undone_by : change.id, later: false });
  return (
    <li className="nbtools-row" data-undone={undone || undefined}>
      <div className="nbtools-summary">
        <span className="nbtools-what" title={change.files.map(({ path }) => path).join('\n')}>
          {count > 0 ? trans._n('%2 and %1 more', '%2 and %1 more', count, name) : name}
        </span>
        <Counts added={sum(change, 'added')} removed={sum(change, 'removed')} />
        <span className="nbtools-time">{new Date(change.at * 1000).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })}</span>
      </div>
      <div className="nbtools-actions">
        <span className="nbtools-place">{stateOf(change, trans)}</span>
        {change.unsaved !== '' && (
          <span className="nbtools-place" title={change.unsaved}>
            {trans.__('may have changed more')}
          </span>
        )}
        <PanelButton label={trans.__('Diff')} name={trans.__('Diff of %1', name)} onClick={() => showDiff(context, kernel, change, name)} />
        <PanelButton
          label={undone ? trans.__('Redo') : trans.__('Undo')}
          name={undone ? trans.__('Redo the change of %1', name) : trans.__('Undo the change of %1', name)}
          onClick={undo}
        />
        {!isLast && (
          <PanelButton
            label={trans.__('Undo to here…')}
            title={trans.__('Undo this change and all later ones')}
            name={trans.__('Undo to the change of %1', name)}
            onClick={() => send(context, kernel, 'panel.undo', { call: change.id, later: true })}
          />
        )}
      </div>
    </li>
  );
}

function stateOf(change: FileChange, trans: TranslationBundle): string {
  if (change.undone_by !== '') {
    return trans.__('%1, undone', change.tool);
  }
  return change.partly ? trans.__('%1, only partly made', change.tool) : change.tool;
}

function sum(change: FileChange, field: 'added' | 'removed'): number | null {
  const counts = change.files.map(file => file[field]);
  return change.more > 0 || counts.some(count => count === null) ? null : counts.reduce<number>((total, count) => total + (count ?? 0), 0);
}

/** Opens the diff of a change in a tab of the main area; a diff that is open already is updated. */
async function showDiff(context: PanelContext, kernel: KnownKernel, change: FileChange, name: string): Promise<void> {
  const { app, trans } = context;
  const reply = await send(context, kernel, 'panel.diff', { call: change.id });
  if (!reply?.diff) {
    return;
  }
  const id = `nbtools-diff-${kernel.kernel}-${change.id}`;
  [...app.shell.widgets('main')].find(widget => widget.id === id)?.dispose();
  const view = new CardView(contextOfCard(context, kernel));
  const content = new Widget();
  content.addClass('nbtools-rendered');
  content.addClass('nbtools-diff-tab');
  content.node.append(view.node);
  content.node.tabIndex = -1;
  view.update({ ...reply.diff, deeds: [] });
  const widget = new MainAreaWidget({ content });
  widget.id = id;
  widget.title.label = trans.__('%1 (diff)', name);
  widget.title.closable = true;
  widget.disposed.connect(() => view.dispose());
  app.shell.add(widget, 'main');
  app.shell.activateById(id);
}
