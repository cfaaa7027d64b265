import type { AnyModel } from '@anywidget/types';
import type { PlaceContext } from '../comparison/context.js';
import { ComparisonInPlace } from '../comparison/in_place.js';
import { parseComparisonView } from '../comparison/model.js';
import { ExplorerInPlace } from '../comparison/picker.js';
import type { ExplorerContext, Reply, Task } from '../explorer/explorer_context.js';
import { parseTraceView } from '../explorer/model.js';
import { ModelConnection } from '../explorer/model_connection.js';
import { element } from '../shared/element.js';
import { hostNode, NO_TRANSLATION } from '../shared/host.js';
import { tryParse } from '../shared/parse.js';
import { SessionsInPlace } from '../sessions/in_place.js';
import { parseSessionsView } from '../sessions/model.js';

interface ExplorerState {
  view: unknown;
}

const trans = NO_TRANSLATION;

/** The explorer of a session log for front ends without the JupyterLab extension (anywidget).  Its data comes from the kernel. */
export default {
  render({ model, el }: { model: AnyModel<ExplorerState>; el: HTMLElement }): () => void {
    const node = hostNode(el, 'nbtools-rendered');
    const place = new WidgetPlace(model, node);
    const data = model.get('view');
    const sessions = tryParse(parseSessionsView, data);
    const comparison = tryParse(parseComparisonView, data);
    const view = tryParse(parseTraceView, data);
    const page = sessions
      ? new SessionsInPlace(place, sessions)
      : comparison
        ? new ComparisonInPlace(place, comparison)
        : view && new ExplorerInPlace(place, view);
    node.append(
      page?.node ??
        element('div', 'nbtools-quiet', trans.__('This explorer was written by another version of nbtools. Run the cell again.'))
    );
    return () => {
      page?.dispose();
      place.dispose();
    };
  }
};

/** Connects the widget's page, and what is opened from it, with the kernel. */
class WidgetPlace implements PlaceContext {
  readonly trans = trans;
  readonly recovery = trans.__('The kernel does not answer. Run the cell again.');
  private readonly connections = new Map<string, ModelConnection>();
  private readonly busyNotice = element('div', 'nbtools-quiet', trans.__('The kernel is busy. The explorer is updated when it is free.'));

  constructor(
    private readonly model: AnyModel<ExplorerState>,
    private readonly node: HTMLElement
  ) {
    this.busyNotice.setAttribute('role', 'status');
  }

  async query(explorer: string, task: Task): Promise<Reply> {
    const found =
      this.connections.get(explorer) ??
      new ModelConnection(this.model, explorer, late => (late ? this.node.prepend(this.busyNotice) : this.busyNotice.remove()));
    this.connections.set(explorer, found);
    return found.query(task);
  }

  /** What every front end can do.  Cells cannot be added, nor files opened, through a widget. */
  explorer(query: (task: Task) => Promise<Reply>): ExplorerContext {
    const { clipboard } = navigator as { clipboard?: Clipboard }; // absent where the page is not served securely
    return {
      trans,
      recovery: trans.__('The kernel does not answer. Run the cell again to search, filter and open steps.'),
      query,
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

  dispose(): void {
    this.connections.forEach(one => one.dispose());
  }
}
