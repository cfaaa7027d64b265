import { MimeModel, type IRenderMimeRegistry } from '@jupyterlab/rendermime';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import type { ReadonlyPartialJSONObject } from '@lumino/coreutils';
import { Panel, type Widget } from '@lumino/widgets';
import type { ICardServices } from '../shared/tokens.js';
import { catalogue } from '../shared/catalogue.js';
import { showOtherVersion } from './context.js';
import { GROUP_MIME } from './model.js';

/** Preferred over text/html, which has rank 50. */
const RANK = 40;

/** Returns the MIME bundles of a group's parts; null if the data is not a group. */
export function partsOf(data: ReadonlyPartialJSONObject): readonly ReadonlyPartialJSONObject[] | null {
  const parts = (data[GROUP_MIME] as ReadonlyPartialJSONObject | undefined)?.['parts'];
  const isBundle = (part: unknown): part is ReadonlyPartialJSONObject => typeof part === 'object' && part !== null && !Array.isArray(part);
  return Array.isArray(parts) && parts.every(isBundle) ? parts : null;
}

interface Part {
  readonly type: string;
  readonly renderer: IRenderMime.IRenderer & Widget;
  /** What is drawn, as JSON: an equal part is not drawn again. */
  shown: string;
}

/** Renders several parts of a cell in one output, each as it would be rendered in an output of its own. */
class RenderedGroup extends Panel implements IRenderMime.IRenderer {
  private readonly registry: IRenderMimeRegistry;
  private readonly parts: Part[] = [];

  constructor(
    private readonly options: IRenderMime.IRendererOptions,
    { rendermime }: ICardServices
  ) {
    super();
    this.addClass('nbtools-group');
    const { resolver, sanitizer, linkHandler } = options;
    this.registry = rendermime.clone({ resolver: resolver ?? undefined, sanitizer, linkHandler: linkHandler ?? undefined });
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    const bundles = partsOf(model.data);
    if (bundles === null) {
      showOtherVersion(this.node, catalogue(this.options.translator), model.data['text/plain']);
      return;
    }
    this.parts.splice(bundles.length).forEach(({ renderer }) => renderer.dispose());
    await Promise.all(bundles.map((bundle, i) => this.renderPart(i, bundle, model.trusted)));
  }

  private async renderPart(index: number, data: ReadonlyPartialJSONObject, trusted: boolean): Promise<void> {
    const type = this.registry.preferredMimeType(data as ReadonlyPartialJSONObject & MimeModel['data'], trusted ? 'any' : 'ensure') ?? '';
    const shown = `${String(trusted)} ${JSON.stringify(data)}`;
    const before = this.parts[index];
    if (before?.shown === shown) {
      return;
    }
    if (before?.type === type) {
      before.shown = shown;
      await before.renderer.renderModel(new MimeModel({ data: data as MimeModel['data'], trusted }));
      return;
    }
    before?.renderer.dispose();
    const renderer = this.registry.createRenderer(type || 'text/plain') as Part['renderer'];
    this.parts[index] = { type, renderer, shown };
    this.insertWidget(index, renderer);
    await renderer.renderModel(new MimeModel({ data: data as MimeModel['data'], trusted }));
  }
}

/** Registers the renderer of groups.  It is safe, because it renders only what is safe in an output of its own. */
export function addGroupRenderer(services: ICardServices): void {
  services.rendermime.addFactory(
    { safe: true, mimeTypes: [GROUP_MIME], defaultRank: RANK, createRenderer: options => new RenderedGroup(options, services) },
    RANK
  );
}
