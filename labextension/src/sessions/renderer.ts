import { Clipboard } from '@jupyterlab/apputils';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { cardContext, plainTextFallback } from '../cards/context.js';
import type { TraceServices } from '../explorer/deferred_renderer.js';
import { ExplorerLost, type Reply, type Task } from '../explorer/explorer_context.js';
import { addCellBelow } from '../explorer/insert_cell.js';
import { explorerKernels } from '../explorer/kernel_connection.js';
import { catalogue } from '../shared/catalogue.js';
import { element } from '../shared/element.js';
import { tryParse } from '../shared/parse.js';
import { SessionsInPlace } from './in_place.js';
import { parseSessionsView, SESSIONS_MIME, type SessionsView } from './model.js';

/** Renders the list of sessions if the kernel has it, else its saved HTML.  Untrusted outputs are always shown as saved HTML. */
export class RenderedSessions extends Widget implements IRenderMime.IRenderer {
  private readonly trans: TranslationBundle;
  private model: IRenderMime.IMimeModel | null = null;
  private view: SessionsView | null = null;
  private list: SessionsInPlace | null = null;
  private panel: NotebookPanel | null = null;
  /** HTML of the kernel that is shown: the saved list, or a comparison. */
  private htmlView: IRenderMime.IRenderer | null = null;

  constructor(
    options: IRenderMime.IRendererOptions,
    private readonly services: TraceServices
  ) {
    super();
    this.addClass('nbtools-rendered');
    this.trans = catalogue(options.translator);
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this.model = model;
    this.view = tryParse(parseSessionsView, model.data[SESSIONS_MIME]);
    if (this.view === null) {
      const notice = this.trans.__(
        'This output cannot be displayed because it was written by another version of nbtools. Its text follows.'
      );
      this.node.replaceChildren(...plainTextFallback(notice, model.data['text/plain']));
    } else if (this.isAttached) {
      await this.connect();
    }
  }

  override dispose(): void {
    this.list?.dispose();
    this.htmlView?.dispose();
    super.dispose();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    if (this.view !== null && this.list === null) {
      void this.connect();
    }
  }

  /** Draws the list once the kernel has confirmed that it has it. */
  private async connect(): Promise<void> {
    const { view, services } = this;
    this.panel = services.notebooks.find(panel => panel.node.contains(this.node)) ?? null;
    this.drawSavedHtml('');
    await this.panel?.sessionContext.ready;
    const task: Task = { type: 'sessions', filter: view!.filter, first: 0, count: view!.page.rows.length, look: false };
    const known = this.model!.trusted && (await this.query(view!.explorer, task).catch(() => null));
    if (this.isDisposed || this.view !== view) {
      return;
    }
    if (known && known.type === 'sessions') {
      this.list?.dispose();
      this.list = new SessionsInPlace(this.context(), { ...view!, page: known });
      this.node.replaceChildren(this.list.node);
    } else {
      this.drawSavedHtml(this.trans.__('Saved view · run the cell again to search and open sessions'));
    }
  }

  private context(): ConstructorParameters<typeof SessionsInPlace>[0] {
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
      }),
      comparison: html => this.savedHtml(html)
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
