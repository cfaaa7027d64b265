import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ICommandPalette } from '@jupyterlab/apputils';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { ISettings } from '../shared/tokens.js';
import { addCommands, COMMANDS } from './commands.js';
import { onQuestionMark } from './key_sheet.js';
import { Settings, SETTINGS_ID } from './settings.js';

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
    addCommands(app, notebooks, palette, (translator ?? nullTranslator).load('nbtools_agent'));
    onQuestionMark(() => void app.commands.execute(COMMANDS.keys));
  }
};

export default [settings, commands];
