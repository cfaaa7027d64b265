import { Clipboard } from '@jupyterlab/apputils';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { cardContext, showOtherVersion } from '../cards/context.js';
import { FIRST_STEPS } from '../comparison/context.js';
import { parseComparisonView } from '../comparison/model.js';
import { kernelChannel } from '../live_cells/kernel_channel.js';
import { parseSessionsView } from '../sessions/model.js';
import { type ExplorerPage, LogPages, type PagesContext } from '../sessions/pages.js';
import { type Channel, RequestError } from '../shared/channel.js';
import type { StackPage } from '../shared/stack.js';
import { catalogue } from '../shared/catalogue.js';
import { element } from '../shared/element.js';
import { tryParse } from '../shared/parse.js';
import { locate } from '../shared/path.js';
import type { TraceServices } from './deferred_renderer.js';
import type { ExplorerContext } from './explorer_context.js';
import { addCellBelow } from './insert_cell.js';
import { firstRows } from './loading.js';
import { LogAddresses } from './log_address.js';
import { COMPARISON_MIME, SESSIONS_MIME } from './mime_types.js';
import { parseTraceView } from './model.js';
import { isAutomatic } from './requests.js';

/** Milliseconds to wait for the kernel before the saved HTML is shown instead. */
const FALLBACK_DELAY = 300;

/** A page that the kernel answers: its id there, and how it is created if the kernel still has it; else `create` rejects. */
interface Page {
  readonly explorer: string;
  readonly recovery: string;
  /** Said above the saved HTML. */
  readonly saved: string;
  create(pages: LogPages): Promise<() => StackPage>;
  /** Shows the page in what was drawn of an earlier version of the output. */
  readonly update?: (page: StackPage) => void;
}

interface Drawn {
  readonly explorer: string;
  readonly pages: LogPages;
  readonly bottom: StackPage;
}

/**
 * Renders an explorer, the list of sessions or a comparison if the kernel has it, else its saved HTML.
 *
 * Untrusted outputs are always shown as saved HTML.
 */
export class RenderedPage extends Widget implements IRenderMime.IRenderer {
  private readonly trans: TranslationBundle;
  private readonly busyNotice = element('div', 'nbtools-quiet');
  private readonly addresses: LogAddresses | null;
  private model: IRenderMime.IMimeModel | null = null;
  private page: Page | null = null;
  private drawn: Drawn | null = null;
  private savedHtml: IRenderMime.IRenderer | null = null;
  private panel: NotebookPanel | null = null;

  constructor(
    private readonly options: IRenderMime.IRendererOptions,
    private readonly services: TraceServices
  ) {
    super();
    this.addClass('nbtools-rendered');
    this.trans = catalogue(options.translator);
    this.addresses = services.contents && new LogAddresses(services.contents);
    this.busyNotice.textContent = this.trans.__('The kernel is busy. The explorer is updated when it is free.');
    this.busyNotice.setAttribute('role', 'status');
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const { mimeType } = this.options;
    const pageOf = mimeType === SESSIONS_MIME ? sessionsPage : mimeType === COMPARISON_MIME ? comparisonPage : explorerPage;
    this.model = model;
    this.page = pageOf(model.data[mimeType], this.trans);
    if (this.page === null) {
      this.clear();
      showOtherVersion(this.node, this.trans, model.data['text/plain']);
    } else if (this.isAttached) {
      await this.connect();
    }
  }

  override dispose(): void {
    this.clear();
    super.dispose();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    if (this.page !== null && this.panel === null) {
      void this.connect();
    }
  }

  /** Draws the page once the kernel has confirmed that it has it; until then, and otherwise, the saved HTML, which has no controls. */
  private async connect(): Promise<void> {
    const page = this.page!;
    this.panel ??= this.services.notebooks.find(panel => panel.node.contains(this.node)) ?? null;
    if (this.drawn?.explorer === page.explorer && page.update && this.model!.trusted) {
      page.update(this.drawn.bottom);
      return;
    }
    const fallbackTimer = window.setTimeout(() => this.drawSavedHtml(''), this.kernel() ? FALLBACK_DELAY : 0);
    await this.panel?.sessionContext.ready;
    const pages = new LogPages(this.context(page.recovery));
    const create = this.model!.trusted ? await page.create(pages).catch(nullIfLost) : null;
    window.clearTimeout(fallbackTimer);
    if (this.isDisposed || this.page?.explorer !== page.explorer) {
      return;
    }
    if (create) {
      this.clear();
      const bottom = create();
      this.drawn = { explorer: page.explorer, pages, bottom };
      pages.stack.push(bottom);
      this.node.replaceChildren(pages.stack.node);
    } else {
      this.drawSavedHtml(page.saved);
    }
  }

  private kernel() {
    return this.panel?.sessionContext.session?.kernel;
  }

  /** Draws the output's saved HTML, sanitized as in an untrusted notebook, below a notice. */
  private drawSavedHtml(notice: string): void {
    this.clear();
    const { rendermime } = this.services;
    const data = { 'text/html': this.model?.data['text/html'] ?? '' };
    this.savedHtml = rendermime.createRenderer('text/html');
    void this.savedHtml.renderModel(rendermime.createModel({ data, trusted: false }));
    this.node.replaceChildren(...(notice ? [element('div', 'nbtools-quiet', notice)] : []), this.savedHtml.node);
  }

  private clear(): void {
    this.drawn?.pages.dispose();
    this.savedHtml?.dispose();
    this.drawn = this.savedHtml = null;
  }

  private context(recovery: string): PagesContext {
    return {
      trans: this.trans,
      recovery,
      channel: () => this.channel,
      explorer: () => this.explorerContext(recovery)
    };
  }

  private explorerContext(recovery: string): ExplorerContext {
    return {
      ...cardContext(this.services, this.trans, () => null), // recorded paths may be of another time or machine
      recovery,
      channel: () => this.channel,
      addCell: (source, run) => void (this.panel && addCellBelow(this.panel, this.node, source, run)),
      compare: null,
      openRelative: place => this.openRelative(place),
      linkTo: async ({ place, session, number }) => this.addresses?.of(place ? this.serverPath(place) : null, session, number) ?? null,
      copy: async text => Clipboard.copyToSystem(text)
    };
  }

  /** Converts a path relative to the notebook's folder. */
  private serverPath(relativePath: string): string | null {
    const path = this.panel?.context.path ?? '';
    return locate(path.slice(0, path.lastIndexOf('/') + 1), '.', relativePath);
  }

  private openRelative(relativePath: string): boolean {
    const path = this.serverPath(relativePath);
    const { opener } = this.services;
    if (opener !== null && path !== null) {
      void opener.open(path, null);
    }
    return opener !== null && path !== null;
  }

  /** The connection with the notebook's kernel. */
  private readonly channel: Channel = {
    call: (method, params) => kernelChannel(this.kernel()).call(method, params, late => isAutomatic(method, params) || this.showBusy(late))
  };

  private showBusy(busy: boolean): void {
    if (busy) {
      this.node.prepend(this.busyNotice);
    } else {
      this.busyNotice.remove();
    }
  }
}

function nullIfLost(error: unknown): null {
  if (error instanceof RequestError) {
    return null;
  }
  throw error;
}

function explorerPage(data: unknown, trans: TranslationBundle): Page | null {
  const view = tryParse(parseTraceView, data);
  return (
    view && {
      explorer: view.explorer,
      recovery: trans.__('The kernel no longer has this explorer. Run the cell again to search, filter and open steps.'),
      saved: trans.__('Saved view · run the cell again to search, filter and open steps'),
      create: async pages => {
        const rows = await pages.client.request('trace.rows', firstRows(view));
        return () => pages.explorer({ ...view, total: rows.total }, {}, rows); // a saved output may say anything
      },
      update: page => (page as ExplorerPage).update(view)
    }
  );
}

function sessionsPage(data: unknown, trans: TranslationBundle): Page | null {
  const view = tryParse(parseSessionsView, data);
  return (
    view && {
      explorer: view.explorer,
      recovery: trans.__('The kernel no longer has this list. Run the cell again.'),
      saved: trans.__('Saved view · run the cell again to search and open sessions'),
      create: async pages => {
        const params = { explorer: view.explorer, version: 0, latest: true, look: false };
        const first = await pages.client.request('sessions.rows', params);
        return () => pages.sessions(view, first);
      }
    }
  );
}

function comparisonPage(data: unknown, trans: TranslationBundle): Page | null {
  const view = tryParse(parseComparisonView, data);
  return (
    view && {
      explorer: view.explorer,
      recovery: trans.__('The kernel no longer has this comparison. Run the cell again.'),
      saved: trans.__('Saved view · run the cell again to open steps'),
      create: async pages => {
        const params = { explorer: view.explorer, baseline: view.baseline, first: 0, count: FIRST_STEPS };
        const first = await pages.client.request('comparison.rows', params);
        return () => pages.comparison(view, first);
      }
    }
  );
}
