import type { AnyModel } from '@anywidget/types';
import { parseComparisonView } from '../comparison/model.js';
import type { ExplorerContext } from '../explorer/explorer_context.js';
import { parseTraceView } from '../explorer/model.js';
import { element } from '../shared/element.js';
import { hostNode, NO_TRANSLATION } from '../shared/host.js';
import { tryParse } from '../shared/parse.js';
import { isAutomatic } from '../explorer/requests.js';
import { ModelChannel } from '../explorer/model_channel.js';
import { parseSessionsView } from '../sessions/model.js';
import { LogPages, type PagesContext } from '../sessions/pages.js';
import type { Channel } from '../shared/channel.js';
import type { StackPage } from '../shared/stack.js';

interface ExplorerState {
  view: unknown;
}

const trans = NO_TRANSLATION;

/** The explorer of a session log for front ends without the JupyterLab extension (anywidget).  Its data comes from the kernel. */
export default {
  render({ model, el }: { model: AnyModel<ExplorerState>; el: HTMLElement }): () => void {
    const node = hostNode(el, 'nbtools-rendered');
    const context = new WidgetContext(model, node);
    const pages = new LogPages(context);
    const page = pageOf(model.get('view'), pages);
    if (page) {
      pages.stack.push(page);
      node.append(pages.stack.node);
    } else {
      const notice = trans.__('This explorer was written by another version of nbtools. Run the cell again.');
      node.append(element('div', 'nbtools-quiet', notice));
    }
    return () => {
      pages.dispose();
      context.dispose();
    };
  }
};

/** Returns the page of what the widget shows; null if it is of another version. */
function pageOf(data: unknown, pages: LogPages): StackPage | null {
  const sessions = tryParse(parseSessionsView, data);
  const comparison = tryParse(parseComparisonView, data);
  const view = tryParse(parseTraceView, data);
  if (sessions) {
    return pages.sessions(sessions);
  }
  return comparison ? pages.comparison(comparison) : view && pages.explorer(view);
}

/** Connects the widget's page, and what is opened from it, with the kernel. */
class WidgetContext implements PagesContext {
  readonly trans = trans;
  readonly recovery = trans.__('The kernel does not answer. Run the cell again.');
  private readonly methods: ModelChannel;
  private readonly busyNotice = element('div', 'nbtools-quiet', trans.__('The kernel is busy. The explorer is updated when it is free.'));

  constructor(
    model: AnyModel<ExplorerState>,
    private readonly node: HTMLElement
  ) {
    this.busyNotice.setAttribute('role', 'status');
    this.methods = new ModelChannel(model);
  }

  channel(): Channel {
    const call: Channel['call'] = (method, params) =>
      this.methods.call(method, params, late => isAutomatic(method, params) || this.showBusy(late));
    return { call };
  }

  private showBusy(busy: boolean): void {
    busy ? this.node.prepend(this.busyNotice) : this.busyNotice.remove();
  }

  /** What every front end can do.  Cells cannot be added, nor files opened, through a widget. */
  explorer(): ExplorerContext {
    const { clipboard } = navigator as { clipboard?: Clipboard }; // absent where the page is not served securely
    return {
      trans,
      recovery: trans.__('The kernel does not answer. Run the cell again to search, filter and open steps.'),
      channel: () => this.channel(),
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
    this.methods.dispose();
  }
}
