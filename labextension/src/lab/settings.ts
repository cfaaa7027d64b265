import type { ISettingRegistry } from '@jupyterlab/settingregistry';
import { Signal } from '@lumino/signaling';
import { DEFAULT_SETTINGS, settingValues } from '../shared/setting_values.js';
import type { ISettings, SettingValues } from '../shared/tokens.js';

/** Id of the plugin whose schema is `schema/plugin.json`. */
export const SETTINGS_ID = 'nbtools-agent:plugin';

/** The settings of the front end, which follow the settings editor. */
export class Settings implements ISettings {
  readonly changed = new Signal<this, SettingValues>(this);
  private current = DEFAULT_SETTINGS;

  constructor(registry: ISettingRegistry | null) {
    // A registry without the schema has nothing to load; the defaults hold.
    registry?.load(SETTINGS_ID).then(
      loaded => {
        loaded.changed.connect(() => this.update(loaded.composite));
        this.update(loaded.composite);
      },
      () => undefined
    );
  }

  get values(): SettingValues {
    return this.current;
  }

  private update(composite: Readonly<Record<string, unknown>>): void {
    const values = settingValues(composite);
    if (JSON.stringify(values) !== JSON.stringify(this.current)) {
      this.current = values;
      this.changed.emit(values);
    }
  }
}
