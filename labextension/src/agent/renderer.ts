import type { INotebookTracker } from '@jupyterlab/notebook';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import { tryParse } from '../shared/parse.js';
import { cardContext, showOtherVersion } from '../cards/context.js';
import type { CardContext, ICardServices } from '../shared/tokens.js';
import { addCellBelow } from '../explorer/insert_cell.js';
import { RunFootView } from './foot.js';
import { RunHeadView } from './head.js';
import { RunMessageView } from './message.js';
import { AGENT_MIME, parseRunView, type RunView } from './model.js';
import { catalogue } from '../shared/catalogue.js';

/** Preferred over text/html, which has rank 50. */
const RANK = 40;

type Part = RunView['part'];
interface PartView<P extends Part> {
  readonly node: HTMLElement;
  update(part: P, trusted: boolean): void;
  dispose?(): void;
}

interface RunServices extends ICardServices {
  readonly notebooks: INotebookTracker;
}

/** Renders one part of a run (head, message or foot), and updates it. */
class RenderedRun extends Widget implements IRenderMime.IRenderer {
  private readonly trans: TranslationBundle;
  private view: PartView<never> | null = null;
  private type: Part['type'] | null = null;

  constructor(
    options: IRenderMime.IRendererOptions,
    private readonly services: RunServices
  ) {
    super();
    this.addClass('nbtools-rendered');
    this.trans = catalogue(options.translator);
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const runView = tryParse(parseRunView, model.data[AGENT_MIME]);
    if (runView === null) {
      this.view?.dispose?.();
      this.view = this.type = null;
      showOtherVersion(this.node, this.trans, model.data['text/plain']);
      return;
    }
    if (this.view === null || this.type !== runView.part.type) {
      this.view?.dispose?.();
      this.type = runView.part.type;
      this.view = this.createView(runView.part);
      this.node.replaceChildren(this.view.node);
    }
    this.view.update(runView.part as never, model.trusted);
  }

  override dispose(): void {
    this.view?.dispose?.();
    super.dispose();
  }

  private createView(part: Part): PartView<never> {
    const context = cardContext(this.services, this.trans, () => null);
    switch (part.type) {
      case 'head':
        return new RunHeadView(context);
      case 'said':
        return new RunMessageView(context, part.thought !== '');
      case 'foot':
        return this.createFoot(context);
    }
  }

  private createFoot(context: CardContext): RunFootView {
    return new RunFootView(context, (node, cell, run) => {
      const panel = this.services.notebooks.find(candidate => candidate.node.contains(node));
      panel && void addCellBelow(panel, node, cell, run);
    });
  }
}

/** Registers the renderer of runs.  It is safe, because runs are built from text nodes: untrusted notebooks show them too. */
export function addRunRenderer(services: RunServices): void {
  services.rendermime.addFactory(
    { safe: true, mimeTypes: [AGENT_MIME], defaultRank: RANK, createRenderer: options => new RenderedRun(options, services) },
    RANK
  );
}
