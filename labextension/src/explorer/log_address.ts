import { PageConfig, URLExt } from '@jupyterlab/coreutils';
import type { Contents } from '@jupyterlab/services';
import { LOG_PARAMETER, STEP_PARAMETER } from './opened_address.js';

/** Makes addresses of JupyterLab that open a log at a step. */
export class LogAddresses {
  private readonly served = new Map<string, Promise<boolean>>();

  constructor(private readonly contents: Contents.IManager) {}

  /** Returns the address for a path of the contents API; null for null, and for a log that the server does not serve. */
  async of(path: string | null, step: string): Promise<string | null> {
    if (!path || !(await this.isServed(path))) {
      return null;
    }
    const lab = PageConfig.getUrl({ mode: 'multiple-document', workspace: PageConfig.defaultWorkspace, treePath: '', toShare: true });
    return lab + URLExt.objectToQueryString({ [LOG_PARAMETER]: path, [STEP_PARAMETER]: step });
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
