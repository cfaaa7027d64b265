import type { AnyModel } from '@anywidget/types';
import { ExplorerView } from '../explorer/explorer.js';
import type { ExplorerContext } from '../explorer/explorer_context.js';
import { parseTraceView, type TraceView } from '../explorer/model.js';
import { ModelConnection } from '../explorer/model_connection.js';
import { element } from '../shared/element.js';
import { hostNode, NO_TRANSLATION } from '../shared/host.js';
import { tryParse } from '../shared/parse.js';
import { SessionsInPlace } from '../sessions/in_place.js';
import { parseSessionsView, type SessionsView } from '../sessions/model.js';

interface ExplorerState {
  view: unknown;
}

const trans = NO_TRANSLATION;

/** The explorer of a session log for front ends without the JupyterLab extension (anywidget).  Its data comes from the kernel. */
export default {
  render({ model, el }: { model: AnyModel<ExplorerState>; el: HTMLElement }): () => void {
    const sessions = tryParse(parseSessionsView, model.get('view'));
    if (sessions !== null) {
      return drawSessions(model, hostNode(el, 'nbtools-rendered'), sessions);
    }
    const view = tryParse(parseTraceView, model.get('view'));
    const node = hostNode(el, 'nbtools-rendered');
    if (view === null) {
      node.append(
        element('div', 'nbtools-quiet', trans.__('This explorer was written by another version of nbtools. Run the cell again.'))
      );
      return () => undefined;
    }
    return drawExplorer(model, node, view);
  }
};

function drawExplorer(model: AnyModel<ExplorerState>, node: HTMLElement, view: TraceView): () => void {
  const busyNotice = element('div', 'nbtools-quiet', trans.__('The kernel is busy. The explorer is updated when it is free.'));
  busyNotice.setAttribute('role', 'status');
  const connection = new ModelConnection(model, view.explorer, late => (late ? node.prepend(busyNotice) : busyNotice.remove()));
  const explorer = new ExplorerView(contextOf(connection));
  node.append(explorer.node);
  explorer.update(view);
  return () => {
    explorer.dispose();
    connection.dispose();
  };
}

/** Draws the list of sessions; a comparison is HTML, which a widget does not show. */
function drawSessions(model: AnyModel<ExplorerState>, node: HTMLElement, view: SessionsView): () => void {
  const connections = new Map<string, ModelConnection>();
  const connection = (explorer: string) => {
    const found = connections.get(explorer) ?? new ModelConnection(model, explorer, () => undefined);
    connections.set(explorer, found);
    return found;
  };
  const recovery = trans.__('The kernel does not answer. Run the cell again.');
  const list = new SessionsInPlace(
    {
      trans,
      recovery,
      query: (explorer, task) => connection(explorer).query(task),
      explorer: query => contextOf({ query }),
      comparison: null
    },
    view
  );
  node.append(list.node);
  return () => {
    list.dispose();
    connections.forEach(one => one.dispose());
  };
}

/** What every front end can do.  Cells cannot be added, nor files opened, through a widget. */
function contextOf(connection: Pick<ModelConnection, 'query'>): ExplorerContext {
  const { clipboard } = navigator as { clipboard?: Clipboard }; // absent where the page is not served securely
  return {
    trans,
    recovery: trans.__('The kernel does not answer. Run the cell again to search, filter and open steps.'),
    query: task => connection.query(task),
    addCell: null,
    compare: null,
    openRelative: null,
    copy: clipboard ? text => clipboard.writeText(text) : null,
    locate: () => null,
    open: () => undefined,
    cancel: () => undefined,
    runAction: () => undefined,
    markdown: async source => element('pre', '', source)
  };
}
