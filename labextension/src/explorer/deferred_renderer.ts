import type { INotebookTracker } from '@jupyterlab/notebook';
import type { Contents } from '@jupyterlab/services';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { Panel } from '@lumino/widgets';
import { plainTextFallback } from '../cards/context.js';
import { catalogue } from '../shared/catalogue.js';
import type { ICardServices } from '../shared/tokens.js';
import { loadChunk } from './load_chunk.js';
import { COMPARISON_MIME, SESSIONS_MIME, TRACE_MIME } from './mime_types.js';

/** Preferred over ipywidgets, which have rank −10: a bundle for other front ends has the explorer as a widget too. */
const RANK = -20;

export interface TraceServices extends ICardServices {
  readonly notebooks: INotebookTracker;
  /** Null where the application is not JupyterLab, which has addresses of logs. */
  readonly contents: Contents.IManager | null;
}

/** Contains the renderer of a trace, of the list of sessions or of a comparison, whose code is loaded with the page's first explorer. */
class DeferredTrace extends Panel implements IRenderMime.IRenderer {
  private renderer: Promise<IRenderMime.IRenderer> | null = null;

  constructor(
    private readonly options: IRenderMime.IRendererOptions,
    private readonly services: TraceServices
  ) {
    super();
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const renderer = await (this.renderer ??= this.load()).catch(() => null);
    if (renderer === null) {
      this.renderer = null; // the next update tries again
      const notice = catalogue(this.options.translator).__('The explorer could not be loaded. Reload the page. The output as text:');
      this.node.replaceChildren(...plainTextFallback(notice, model.data['text/plain']));
    } else if (!this.isDisposed) {
      await renderer.renderModel(model);
    }
  }

  private async load(): Promise<IRenderMime.IRenderer> {
    const { RenderedPage } = await loadChunk();
    const renderer = new RenderedPage(this.options, this.services);
    if (this.isDisposed) {
      renderer.dispose();
    } else {
      this.node.replaceChildren();
      this.addWidget(renderer);
    }
    return renderer;
  }
}

/** Registers the renderer of traces, of the list of sessions and of comparisons.  It is safe, as for cards: untrusted notebooks show them too. */
export function addTraceRenderer(services: TraceServices): void {
  services.rendermime.addFactory(
    {
      safe: true,
      mimeTypes: [TRACE_MIME, SESSIONS_MIME, COMPARISON_MIME],
      defaultRank: RANK,
      createRenderer: options => new DeferredTrace(options, services)
    },
    RANK
  );
}
