import { Clipboard } from '@jupyterlab/apputils';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import type { TranslationBundle } from '@jupyterlab/translation';
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { element } from '../shared/element.js';
import { tryParse } from '../shared/parse.js';
import { locate } from '../shared/path.js';
import { cardContext, showOtherVersion } from '../cards/context.js';
import { ComparePicker } from '../comparison/picker.js';
import { addCellBelow } from './insert_cell.js';
import { ExplorerLost, type ExplorerContext, type Reply, type Task } from './explorer_context.js';
import { ExplorerView } from './explorer.js';
import { NO_FILTER } from './filter.js';
import type { TraceServices } from './deferred_renderer.js';
import { explorerKernels } from './kernel_connection.js';
import { parseTraceView, TRACE_MIME, type TraceView } from './model.js';
import { catalogue } from '../shared/catalogue.js';

/** Milliseconds to wait for the kernel before the saved HTML is shown instead. */
const FALLBACK_DELAY = 300;
/** A request that every explorer can answer, sent to find out whether the kernel has the explorer. */
const PROBE: Task = {
  type: 'place',
  filter: NO_FILTER,
  line: 0
};

/** Renders a trace: as an explorer if the kernel has it, else as saved HTML.  Untrusted outputs are always shown as saved HTML. */
export class RenderedTrace extends Widget implements IRenderMime.IRenderer {
  private readonly trans: TranslationBundle;
  private readonly busyNotice = element('div', 'nbtools-quiet');
  private model: IRenderMime.IMimeModel | null = null;
  private traceView: TraceView | null = null;
  private explorer: ExplorerView | null = null;
  private picker: ComparePicker | null = null;
  private savedHtml: IRenderMime.IRenderer | null = null;
  /** The id of the explorer that the kernel has confirmed. */
  private knownExplorer = '';
  private panel: NotebookPanel | null = null;

  constructor(
    options: IRenderMime.IRendererOptions,
    private readonly services: TraceServices
  ) {
    super();
    this.addClass('nbtools-rendered');
    this.trans = catalogue(options.translator);
    this.busyNotice.textContent = this.trans.__('The kernel is busy. The explorer is updated when it is free.');
    this.busyNotice.setAttribute('role', 'status');
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this.model = model;
    this.traceView = tryParse(parseTraceView, model.data[TRACE_MIME]);
    if (this.traceView === null) {
      this.disposeExplorer();
      showOtherVersion(this.node, this.trans, model.data['text/plain']);
    } else if (this.isAttached) {
      await this.connect();
    }
  }

  override dispose(): void {
    this.disposeExplorer();
    super.dispose();
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    if (this.traceView !== null && this.panel === null) {
      void this.connect();
    }
  }

  /**
   * Finds the notebook that contains this output, and draws the explorer once the kernel has confirmed that it has it.
   *
   * Until then, and otherwise, it draws the saved HTML, which has no controls.
   */
  private async connect(): Promise<void> {
    const { explorer } = this.traceView!;
    this.panel ??= this.services.notebooks.find(panel => panel.node.contains(this.node)) ?? null;
    if (this.knownExplorer === explorer && this.model!.trusted) {
      this.drawExplorer();
      return;
    }
    const fallbackTimer = window.setTimeout(() => this.drawSavedHtml(''), this.kernel() ? FALLBACK_DELAY : 0);
    await this.panel?.sessionContext.ready;
    const connected = this.model!.trusted && (await this.kernelHasExplorer());
    window.clearTimeout(fallbackTimer);
    if (this.isDisposed || this.traceView?.explorer !== explorer) {
      return;
    }
    if (connected) {
      this.knownExplorer = explorer;
      this.drawExplorer();
    } else {
      this.drawSavedHtml(this.trans.__('Saved view · run the cell again to search, filter and open steps'));
    }
  }

  private async kernelHasExplorer(): Promise<boolean> {
    try {
      await this.query(PROBE);
      return true;
    } catch (error) {
      if (error instanceof ExplorerLost) {
        return false;
      }
      throw error;
    }
  }

  private kernel() {
    return this.panel?.sessionContext.session?.kernel;
  }

  private drawExplorer(): void {
    if (this.explorer === null) {
      this.explorer = new ExplorerView(this.explorerContext());
      this.node.replaceChildren(this.explorer.node);
    }
    this.explorer.update(this.traceView!);
  }

  /** Draws the output's saved HTML, sanitized as in an untrusted notebook, below a notice. */
  private drawSavedHtml(notice: string): void {
    this.disposeExplorer();
    const { rendermime } = this.services;
    const data = { 'text/html': this.model?.data['text/html'] ?? '' };
    this.savedHtml = rendermime.createRenderer('text/html');
    void this.savedHtml.renderModel(rendermime.createModel({ data, trusted: false }));
    this.node.replaceChildren(...(notice ? [element('div', 'nbtools-quiet', notice)] : []), this.savedHtml.node);
  }

  private disposeExplorer(): void {
    this.picker?.dispose();
    this.picker = null;
    this.explorer?.dispose();
    this.savedHtml?.dispose();
    this.explorer = this.savedHtml = null;
  }

  private explorerContext(): ExplorerContext {
    return {
      ...cardContext(this.services, this.trans, () => null), // recorded paths may be of another time or machine
      recovery: this.trans.__('The kernel no longer has this explorer. Run the cell again to search, filter and open steps.'),
      query: task => this.query(task),
      addCell: (source, run) => void (this.panel && addCellBelow(this.panel, this.node, source, run)),
      compare: () => this.compare(),
      openRelative: place => this.openRelative(place),
      copy: async text => Clipboard.copyToSystem(text)
    };
  }

  /** Shows sessions to compare with, and their comparison, in place of the explorer. */
  private compare(): void {
    const context = this.explorerContext();
    const place = {
      trans: this.trans,
      recovery: context.recovery,
      query: (explorer: string, task: Task) => this.query(task, explorer),
      explorer: (query: ExplorerContext['query']) => ({ ...context, query, openRelative: null })
    };
    this.picker?.dispose();
    this.picker = new ComparePicker(place, this.traceView!.explorer, this.explorer!);
  }

  private openRelative(relativePath: string): boolean {
    const path = this.panel?.context.path ?? '';
    const serverPath = locate(path.slice(0, path.lastIndexOf('/') + 1), '.', relativePath);
    const { opener } = this.services;
    if (opener !== null && serverPath !== null) {
      void opener.open(serverPath, null);
    }
    return opener !== null && serverPath !== null;
  }

  private async query(task: Task, explorer = this.traceView!.explorer): Promise<Reply> {
    const kernel = this.kernel();
    if (!kernel) {
      throw new ExplorerLost();
    }
    return explorerKernels.request(kernel, explorer, task, late => task.type === 'follow' || this.showBusy(late));
  }

  private showBusy(busy: boolean): void {
    if (busy) {
      this.node.prepend(this.busyNotice);
    } else {
      this.busyNotice.remove();
    }
  }
}
