import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { ISettingRegistry } from '@jupyterlab/settingregistry';
import { ISettings } from '../shared/tokens.js';
import { Settings, SETTINGS_ID } from './settings.js';

const settings: JupyterFrontEndPlugin<ISettings> = {
  id: SETTINGS_ID,
  description: 'The settings of nbtools in the front end.',
  autoStart: true,
  optional: [ISettingRegistry],
  provides: ISettings,
  activate: (_, registry: ISettingRegistry | null) => new Settings(registry)
};

export default [settings];
