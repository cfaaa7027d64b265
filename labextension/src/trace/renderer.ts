import { Clipboard } from '@jupyterlab/apputils';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { nullTranslator, type TranslationBundle } from '@jupyterlab/translation';
import type { Message } from '@lumino/messaging';
import { Widget } from '@lumino/widgets';
import { element } from '../element.js';
import { attempt } from '../parse.js';
import { locate } from '../path.js';
import { plainText, surroundingsOf, type Services } from '../surroundings.js';
import { addCellBelow } from './cells.js';
import { Gone, type Desk, type Reply, type Task } from './desk.js';
import { ExplorerView } from './explorer.js';
import { TraceKernels } from './kernel.js';
import { parseTraceView, TRACE_MIME, type TraceView } from './wire.js';

/** As for cards: before text/html (50). */
const RANK = 40;
/** Milliseconds that a kernel gets to say that it knows the explorer before the picture is drawn instead. */
const GRACE = 300;
/** A question that any explorer can answer. */
const THERE: Task = {
  type: 'place',
  filter: { text: '', kind: '', tool: '', path: '', first: null, last: null, folded: [] },
  line: 0
};

interface TraceServices extends Services {
  readonly notebooks: INotebookTracker;
  readonly kernels: TraceKernels;
}

/** Draws one bundle: alive once a kernel has answered for it, and else the picture that it brings.  An untrusted one is never alive. */
class RenderedTrace extends Widget implements IRenderMime.IRenderer {
  private readonly trans: TranslationBundle;
  private readonly busy = element('div', 'nbtools-quiet');
  private model: IRenderMime.IMimeModel | null = null;
  private shown: TraceView | null = null;
  private explorer: ExplorerView | null = null;
  /** The explorer that the kernel has said it knows. */
  private known = '';
  private panel: NotebookPanel | null = null;

  constructor(
    options: IRenderMime.IRendererOptions,
    private readonly services: TraceServices
  ) {
    super();
    this.addClass('nbtools-rendered');
    this.trans = (options.translator ?? nullTranslator).load('nbtools_agent');
    this.busy.textContent = this.trans.__('The kernel is busy; it answers when it is free.');
    this.busy.setAttribute('role', 'status');
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this.model = model;
    this.shown = attempt(parseTraceView, model.data[TRACE_MIME]);
    if (this.shown === null) {
      this.letGo();
      const said = this.trans.__('This was written by another version of nbtools; here is its text.');
      this.node.replaceChildren(...plainText(said, model.data['text/plain']));
    } else if (this.isAttached) {
      await this.begin();
    }
  }

  override dispose(): void {
    this.letGo();
    super.dispose();
  }

  /** In which notebook this stands shows only now. */
  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    if (this.shown !== null && this.panel === null) {
      this.panel = this.services.notebooks.find(one => one.node.contains(this.node)) ?? null;
      void this.begin();
    }
  }

  /** A bundle draws nothing that can be pressed before the kernel has said that it knows the explorer; later on the explorer says so. */
  private async begin(): Promise<void> {
    const { explorer } = this.shown!;
    if (this.known === explorer && this.model!.trusted) {
      this.live();
      return;
    }
    const waiting = window.setTimeout(() => this.still(''), this.kernel() ? GRACE : 0);
    await this.panel?.sessionContext.ready;
    const known = this.model!.trusted && (await this.knows());
    window.clearTimeout(waiting);
    if (this.isDisposed || this.shown?.explorer !== explorer) {
      return;
    }
    if (known) {
      this.known = explorer;
      this.live();
    } else {
      this.still(this.trans.__('As it was saved · run the cell again to search, filter and open steps'));
    }
  }

  private async knows(): Promise<boolean> {
    try {
      await this.query(THERE);
      return true;
    } catch (error) {
      if (error instanceof Gone) {
        return false;
      }
      throw error;
    }
  }

  private kernel() {
    return this.panel?.sessionContext.session?.kernel;
  }

  private live(): void {
    if (this.explorer === null) {
      this.explorer = new ExplorerView(this.desk());
      this.node.replaceChildren(this.explorer.node);
    }
    this.explorer.update(this.shown!);
  }

  /** What a saved notebook shows everywhere, drawn as Jupyter draws the HTML of strangers, below a line that says why. */
  private still(why: string): void {
    this.letGo();
    const { rendermime } = this.services;
    const data = { 'text/html': this.model?.data['text/html'] ?? '' };
    const html = rendermime.createRenderer('text/html');
    void html.renderModel(rendermime.createModel({ data, trusted: false }));
    this.node.replaceChildren(...(why ? [element('div', 'nbtools-quiet', why)] : []), html.node);
  }

  private letGo(): void {
    this.explorer?.dispose();
    this.explorer = null;
  }

  private desk(): Desk {
    return {
      ...surroundingsOf(this.services, this.trans, () => null), // the files were those of another day, perhaps of another machine
      query: task => this.query(task),
      addCell: (source, run) => void (this.panel && addCellBelow(this.panel, this.node, source, run)),
      openBeside: place => this.openBeside(place),
      copy: async text => Clipboard.copyToSystem(text)
    };
  }

  private openBeside(place: string): boolean {
    const path = this.panel?.context.path ?? '';
    const found = locate(path.slice(0, path.lastIndexOf('/') + 1), '.', place);
    const { opener } = this.services;
    if (opener !== null && found !== null) {
      void opener.open(found, null);
    }
    return opener !== null && found !== null;
  }

  private async query(task: Task): Promise<Reply> {
    const kernel = this.kernel();
    if (!kernel) {
      throw new Gone();
    }
    return this.services.kernels.ask(kernel, this.shown!.explorer, task, late => this.say(late));
  }

  private say(busy: boolean): void {
    if (busy) {
      this.node.prepend(this.busy);
    } else {
      this.busy.remove();
    }
  }
}

/** Teaches a registry to draw explorers; as with cards, the notebooks of strangers show them too. */
export function addTraceRenderer(services: TraceServices): void {
  services.rendermime.addFactory(
    { safe: true, mimeTypes: [TRACE_MIME], defaultRank: RANK, createRenderer: options => new RenderedTrace(options, services) },
    RANK
  );
}
