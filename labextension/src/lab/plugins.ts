import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { IDocumentManager } from '@jupyterlab/docmanager';
import { ILauncher } from '@jupyterlab/launcher';
import { IMainMenu } from '@jupyterlab/mainmenu';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { IStateDB } from '@jupyterlab/statedb';
import { ITranslator } from '@jupyterlab/translation';
import { IFileOpener, IKernelStates, ISettings } from '../shared/tokens.js';
import { addCardMenu } from './card_menu.js';
import { addCommands, COMMANDS } from './commands.js';
import { ChangeFollower } from './follow_changes.js';
import { onQuestionMark } from './key_sheet.js';
import { addHelp, addTiles } from './launcher.js';
import { offerTour, Tour, TOUR } from './tour.js';
import { Settings, SETTINGS_ID } from './settings.js';
import { catalogue } from '../shared/catalogue.js';

const settings: JupyterFrontEndPlugin<ISettings> = {
  id: SETTINGS_ID,
  description: 'The settings of nbtools in the front end.',
  autoStart: true,
  optional: [ISettingRegistry],
  provides: ISettings,
  activate: (_, registry: ISettingRegistry | null) => new Settings(registry)
};

const commands: JupyterFrontEndPlugin<void> = {
  id: 'nbtools-agent:commands',
  description: 'Commands about calls and questions, the form for a new call, and the sheet of keys.',
  autoStart: true,
  requires: [INotebookTracker],
  optional: [ICommandPalette, ITranslator],
  activate: (app: JupyterFrontEnd, notebooks: INotebookTracker, palette: ICommandPalette | null, translator: ITranslator | null) => {
    addCommands(app, notebooks, palette, catalogue(translator));
    onQuestionMark(() => void app.commands.execute(COMMANDS.keys));
  }
};

const cardMenu: JupyterFrontEndPlugin<void> = {
  id: 'nbtools-agent:card-menu',
  description: 'The context menu of cards.',
  autoStart: true,
  requires: [INotebookTracker],
  optional: [IFileOpener, ITranslator],
  activate: (app: JupyterFrontEnd, notebooks: INotebookTracker, opener: IFileOpener | null, translator: ITranslator | null) =>
    addCardMenu(app, notebooks, opener, catalogue(translator))
};

const follower: JupyterFrontEndPlugin<void> = {
  id: 'nbtools-agent:follow-changes',
  description: 'Reloads open files after a tool changed them on disk.',
  autoStart: true,
  requires: [IDocumentManager, IKernelStates, ISettings],
  optional: [ITranslator],
  activate: (_, documents: IDocumentManager, states: IKernelStates, values: ISettings, translator: ITranslator | null) =>
    void new ChangeFollower(documents, states, values, catalogue(translator))
};

const tiles: JupyterFrontEndPlugin<void> = {
  id: 'nbtools-agent:launcher',
  description: 'Tiles of the launcher, and a notebook with tools.',
  autoStart: true,
  optional: [ILauncher, ICommandPalette, ITranslator],
  activate: (app: JupyterFrontEnd, launcher: ILauncher | null, palette: ICommandPalette | null, translator: ITranslator | null) =>
    void app.started.then(() => addTiles(app, launcher, palette, catalogue(translator)))
};

const tour: JupyterFrontEndPlugin<void> = {
  id: 'nbtools-agent:tour',
  description: 'A tour in four steps, and links in the Help menu.',
  autoStart: true,
  optional: [ICommandPalette, IMainMenu, IKernelStates, IStateDB, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    palette: ICommandPalette | null,
    menu: IMainMenu | null,
    states: IKernelStates | null,
    database: IStateDB | null,
    translator: ITranslator | null
  ) => {
    const trans = catalogue(translator);
    const shown = new Tour(app, trans);
    app.commands.addCommand(TOUR, {
      label: trans.__('Tour of nbtools'),
      caption: trans.__('Show calls, questions, the panel and session logs in four steps'),
      describedBy: { args: { type: 'object', properties: {} } },
      execute: () => shown.start()
    });
    palette?.addItem({ command: TOUR, category: trans.__('nbtools') });
    menu && addHelp(menu, TOUR);
    states && database && offerTour(app, states, database, trans);
  }
};

export default [settings, commands, cardMenu, follower, tiles, tour];
