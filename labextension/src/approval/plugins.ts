import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ITranslator } from '@jupyterlab/translation';
import { cardContext } from '../cards/context.js';
import { SERVICES_EVENT, type ServicesRequest } from '../shared/card_services.js';
import { locate } from '../shared/path.js';
import { ICardServices } from '../shared/tokens.js';
import { catalogue } from '../shared/catalogue.js';

/** Provides links to files, markdown and translations to the questions in notebooks; they work without this, too. */
const services: JupyterFrontEndPlugin<void> = {
  id: 'nbtools-agent:questions',
  description: 'Provides links, markdown and translations to approval requests.',
  autoStart: true,
  requires: [INotebookTracker, ICardServices],
  optional: [ITranslator],
  activate: (_: JupyterFrontEnd, notebooks: INotebookTracker, cards: ICardServices, translator: ITranslator | null) => {
    const trans = catalogue(translator);
    document.addEventListener(SERVICES_EVENT, event => {
      const { root, provide } = (event as CustomEvent<ServicesRequest>).detail;
      const panel = notebooks.find(({ node }) => node.contains(event.target as Node));
      const folder = panel?.context.path.split('/').slice(0, -1).join('/') ?? '';
      provide(cardContext(cards, trans, path => locate(folder, root, path)));
    });
  }
};

export default [services];
