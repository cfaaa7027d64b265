import {
  CodeMirrorEditorFactory,
  CodeMirrorMimeTypeService,
  EditorExtensionRegistry,
  EditorLanguageRegistry,
  EditorThemeRegistry
} from '@jupyterlab/codemirror';
import { MimeModel, RenderMimeRegistry, standardRendererFactories } from '@jupyterlab/rendermime';
import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { MessageLoop } from '@lumino/messaging';
import { Signal } from '@lumino/signaling';
import { Widget } from '@lumino/widgets';
import { cardContext } from '../cards/context.js';
import { addGroupRenderer } from '../cards/group_renderer.js';
import { addCallRenderer } from '../cards/renderer.js';
import editorPlugins from '../editor/plugins.js';
import { SERVICES_EVENT, type ServicesRequest } from '../shared/card_services.js';
import { catalogue } from '../shared/catalogue.js';
import { locate } from '../shared/path.js';
import { DEFAULT_SETTINGS } from '../shared/setting_values.js';
import type { ICardServices, ISettings, SettingValues } from '../shared/tokens.js';

/** Draws the outputs of cells on a page of the tests, with the extension's renderers and JupyterLab's, but without JupyterLab. */
export class OutputRenderers {
  readonly settings = new PageSettings();
  private readonly drawn = new WeakMap<HTMLElement, { type: string; renderer: IRenderMime.IRenderer & Widget }>();

  /** `request` calls a method of the kernel; `open` opens a file at a line. */
  constructor(
    request: (method: string, params: object) => void,
    open: (path: string, line: number | null) => void,
    private readonly rendermime = new RenderMimeRegistry({ initialFactories: standardRendererFactories })
  ) {
    const services: ICardServices = {
      rendermime,
      opener: { open: async (path, line) => open(path, line) },
      canceller: {
        cancel: (_, call) => request('cards.cancel', { call }),
        runAction: (_, { verb, id }) => request('cards.act', { verb, id })
      },
      settings: this.settings
    };
    addCallRenderer(services);
    addGroupRenderer(services);
    provideServices(services);
    provideEditor();
  }

  /** Draws a MIME bundle in a node of the page, by the renderer that has drawn there before where its type is the same. */
  async draw(node: HTMLElement, data: MimeModel['data']): Promise<void> {
    const type = this.rendermime.preferredMimeType(data, 'any') ?? 'text/plain';
    if (this.drawn.get(node)?.type !== type) {
      this.clear(node);
      const renderer = this.rendermime.createRenderer(type) as IRenderMime.IRenderer & Widget;
      this.drawn.set(node, { type, renderer });
      Widget.attach(renderer, node);
      MessageLoop.flush();
    }
    await this.drawn.get(node)!.renderer.renderModel(new MimeModel({ data, trusted: true }));
  }

  /** Removes what was drawn in a node. */
  clear(node: HTMLElement): void {
    this.drawn.get(node)?.renderer.dispose();
    this.drawn.delete(node);
  }
}

/** The person's settings, which a test can change. */
class PageSettings implements ISettings {
  readonly changed: Signal<ISettings, SettingValues> = new Signal<ISettings, SettingValues>(this);
  values = DEFAULT_SETTINGS;

  set(values: Partial<SettingValues>): void {
    this.values = { ...DEFAULT_SETTINGS, ...values };
    this.changed.emit(this.values);
  }
}

/** Answers the questions of the page, as the extension does. */
function provideServices(services: ICardServices): void {
  document.addEventListener(SERVICES_EVENT, event => {
    const { root, provide } = (event as CustomEvent<ServicesRequest>).detail;
    provide(cardContext(services, catalogue(null), path => locate('', root, path)));
  });
}

/** Opens JupyterLab's editor where a question asks for one. */
function provideEditor(): void {
  const languages = new EditorLanguageRegistry();
  const extensions = new EditorExtensionRegistry();
  EditorExtensionRegistry.getDefaultExtensions({ themes: new EditorThemeRegistry() }).forEach(one => extensions.addExtension(one));
  const services = {
    factoryService: new CodeMirrorEditorFactory({ extensions, languages }),
    mimeTypeService: new CodeMirrorMimeTypeService(languages)
  };
  editorPlugins.forEach(({ activate }) => void activate(null as never, services, null));
}
