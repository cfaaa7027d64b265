import { PageConfig, URLExt } from '@jupyterlab/coreutils';
import type { Contents } from '@jupyterlab/services';
import { LOG_PARAMETER, SESSION, STEP_PARAMETER } from './opened_address.js';

/** Makes addresses of JupyterLab that open a log at a step. */
export class LogAddresses {
  private readonly served = new Map<string, Promise<boolean>>();

  constructor(private readonly contents: Contents.IManager) {}

  /**
   * Returns the address of a step: it names the log by its path of the contents API, or, where the server does not serve that, by its
   * id in the list of sessions.  Null for a log that has neither.
   */
  async of(path: string | null, session: string, step: string): Promise<string | null> {
    const log = path && (await this.isServed(path)) ? path : session && SESSION + session;
    const lab = PageConfig.getUrl({ mode: 'multiple-document', workspace: PageConfig.defaultWorkspace, treePath: '', toShare: true });
    return log ? lab + URLExt.objectToQueryString({ [LOG_PARAMETER]: log, [STEP_PARAMETER]: step }) : null;
  }

  private isServed(path: string): Promise<boolean> {
    const known = this.served.get(path);
    const served =
      known ??
      this.contents.get(path, { content: false }).then(
        ({ type }) => type !== 'directory',
        () => false
      );
    this.served.set(path, served);
    return served;
  }
}
