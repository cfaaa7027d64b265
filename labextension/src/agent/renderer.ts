import type { INotebookTracker } from '@jupyterlab/notebook';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { nullTranslator, type TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import { attempt } from '../parse.js';
import { plainText, surroundingsOf, type Services } from '../surroundings.js';
import type { Surroundings } from '../tokens.js';
import { addCellBelow } from '../trace/cells.js';
import { RunFootView } from './foot.js';
import { RunHeadView } from './head.js';
import { RunSaidView } from './said.js';
import { AGENT_MIME, parseRunView, type RunView } from './wire.js';

/** As for cards: before text/html (50). */
const RANK = 40;

type Part = RunView['part'];
interface PartView<P extends Part> {
  readonly node: HTMLElement;
  update(part: P, trusted: boolean): void;
  dispose?(): void;
}

interface RunServices extends Services {
  readonly notebooks: INotebookTracker;
}

/** Draws one part of a run and keeps it through updates. */
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
    this.trans = (options.translator ?? nullTranslator).load('nbtools_agent');
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const shown = attempt(parseRunView, model.data[AGENT_MIME]);
    if (shown === null) {
      this.view?.dispose?.();
      this.view = this.type = null;
      const said = this.trans.__('This was written by another version of nbtools; here is its text.');
      this.node.replaceChildren(...plainText(said, model.data['text/plain']));
      return;
    }
    if (this.view === null || this.type !== shown.part.type) {
      this.view?.dispose?.();
      this.type = shown.part.type;
      this.view = this.create(shown.part);
      this.node.replaceChildren(this.view.node);
    }
    this.view.update(shown.part as never, model.trusted);
  }

  override dispose(): void {
    this.view?.dispose?.();
    super.dispose();
  }

  private create(part: Part): PartView<never> {
    const around = surroundingsOf(this.services, this.trans, () => null);
    switch (part.type) {
      case 'head':
        return new RunHeadView(around);
      case 'said':
        return new RunSaidView(around, part.thought !== '');
      case 'foot':
        return this.foot(around);
    }
  }

  private foot(around: Surroundings): RunFootView {
    return new RunFootView(around, (node, cell, run) => {
      const panel = this.services.notebooks.find(one => one.node.contains(node));
      panel && void addCellBelow(panel, node, cell, run);
    });
  }
}

/** Teaches a registry to draw runs; they are safe, being built from text alone, so untrusted notebooks show them too. */
export function addRunRenderer(services: RunServices): void {
  services.rendermime.addFactory(
    { safe: true, mimeTypes: [AGENT_MIME], defaultRank: RANK, createRenderer: options => new RenderedRun(options, services) },
    RANK
  );
}
