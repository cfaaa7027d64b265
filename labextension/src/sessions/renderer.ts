import { Clipboard } from '@jupyterlab/apputils';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { cardContext, showOtherVersion } from '../cards/context.js';
import type { TraceServices } from '../explorer/deferred_renderer.js';
import { ExplorerLost, type Reply, type Task } from '../explorer/explorer_context.js';
import { addCellBelow } from '../explorer/insert_cell.js';
import { explorerKernels } from '../explorer/kernel_connection.js';
import { catalogue } from '../shared/catalogue.js';
import { element } from '../shared/element.js';
import { tryParse } from '../shared/parse.js';
import type { PlaceContext } from '../comparison/context.js';
import { ComparisonInPlace } from '../comparison/in_place.js';
import { COMPARISON_MIME, parseComparisonView } from '../comparison/model.js';
import { SessionsInPlace } from './in_place.js';
import { parseSessionsView, SESSIONS_MIME } from './model.js';

/** A page that the kernel answers: its id there, a request that tells whether the kernel has it, and how it is drawn from the reply. */
interface Page {
  readonly explorer: string;
  readonly probe: Task;
  create(context: PlaceContext, reply: Reply): { readonly node: HTMLElement; dispose(): void };
}

/**
 * Renders the list of sessions, or a comparison, if the kernel has it, else its saved HTML.
 *
 * Untrusted outputs are always shown as saved HTML.
 */
export class RenderedPlace extends Widget implements IRenderMime.IRenderer {
  private readonly trans: TranslationBundle;
  private model: IRenderMime.IMimeModel | null = null;
  private page: Page | null = null;
  private drawn: ReturnType<Page['create']> | null = null;
  private panel: NotebookPanel | null = null;
  private htmlView: IRenderMime.IRenderer | null = null;

  constructor(
    private readonly options: IRenderMime.IRendererOptions,
    private readonly services: TraceServices
  ) {
    super();
    this.addClass('nbtools-rendered');
    this.trans = catalogue(options.translator);
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this.model = model;
    this.page = this.options.mimeType === SESSIONS_MIME ? sessionsPage(model) : comparisonPage(model);
    if (this.page === null) {
      showOtherVersion(this.node, this.trans, model.data['text/plain']);
    } else if (this.isAttached) {
      await this.connect();
    }
  }

  override dispose(): void {
    this.drawn?.dispose();
    this.htmlView?.dispose();
    super.dispose();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    if (this.page !== null && this.drawn === null) {
      void this.connect();
    }
  }

  /** Draws the page once the kernel has confirmed that it has it. */
  private async connect(): Promise<void> {
    const { page, services } = this;
    this.panel = services.notebooks.find(panel => panel.node.contains(this.node)) ?? null;
    this.drawSavedHtml('');
    await this.panel?.sessionContext.ready;
    const reply = this.model!.trusted && (await this.query(page!.explorer, page!.probe).catch(() => null));
    if (this.isDisposed || this.page !== page) {
      return;
    }
    if (reply && reply.type !== 'problem') {
      this.drawn?.dispose();
      this.drawn = page!.create(this.context(), reply);
      this.node.replaceChildren(this.drawn.node);
    } else {
      this.drawSavedHtml(this.trans.__('Saved view · run the cell again to search and open sessions'));
    }
  }

  private context(): PlaceContext {
    const { services, trans } = this;
    const recovery = trans.__('The kernel no longer has this list. Run the cell again.');
    return {
      trans,
      recovery,
      query: (explorer, task) => this.query(explorer, task),
      explorer: query => ({
        ...cardContext(services, trans, () => null), // recorded paths may be of another time or machine
        recovery,
        query,
        addCell: (source, run) => void (this.panel && addCellBelow(this.panel, this.node, source, run)),
        compare: null,
        openRelative: null,
        copy: async text => Clipboard.copyToSystem(text)
      })
    };
  }

  private async query(explorer: string, task: Task): Promise<Reply> {
    const kernel = this.panel?.sessionContext.session?.kernel;
    if (!kernel) {
      throw new ExplorerLost();
    }
    return explorerKernels.request(kernel, explorer, task, () => undefined);
  }

  private drawSavedHtml(notice: string): void {
    const html = String(this.model?.data['text/html'] ?? '');
    this.node.replaceChildren(...(notice ? [element('div', 'nbtools-quiet', notice)] : []), this.savedHtml(html));
  }

  /** Returns HTML of the kernel, sanitized as in an untrusted notebook. */
  private savedHtml(html: string): Node {
    const { rendermime } = this.services;
    this.htmlView?.dispose();
    this.htmlView = rendermime.createRenderer('text/html');
    void this.htmlView.renderModel(rendermime.createModel({ data: { 'text/html': html }, trusted: false }));
    return this.htmlView.node;
  }
}

function sessionsPage({ data }: IRenderMime.IMimeModel): Page | null {
  const view = tryParse(parseSessionsView, data[SESSIONS_MIME]);
  return (
    view && {
      explorer: view.explorer,
      probe: { type: 'sessions', filter: view.filter, first: 0, count: view.page.rows.length, look: false },
      create: (context, reply) => new SessionsInPlace(context, reply.type === 'sessions' ? { ...view, page: reply } : view)
    }
  );
}

function comparisonPage({ data }: IRenderMime.IMimeModel): Page | null {
  const view = tryParse(parseComparisonView, data[COMPARISON_MIME]);
  return (
    view && {
      explorer: view.explorer,
      probe: { type: 'compared', baseline: view.baseline, first: 0, count: 0, unfolded: [] },
      create: context => new ComparisonInPlace(context, view)
    }
  );
}
