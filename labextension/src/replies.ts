import type { NotebookPanel } from '@jupyterlab/notebook';
import type { JSONObject } from '@lumino/coreutils';

export type Kernel = NonNullable<NonNullable<NotebookPanel['sessionContext']['session']>['kernel']>;
export type Comm = ReturnType<Kernel['createComm']>;

const TARGET = 'nbtools';
const PATIENCE = 1000;
export const ENDING: readonly string[] = ['restarting', 'autorestarting', 'terminating', 'dead'];

/**
 * Sends a kernel what it has asked for, on comms that the page opens: on a subshell they reach a kernel that a cell blocks.
 *
 * Comms of one target share a subshell that ends with the last of them, and what is sent while it ends is lost: one comm is kept.
 */
export class Replies {
  private readonly kept = new WeakMap<Kernel, Comm>();

  async send(kernel: Kernel, data: JSONObject): Promise<void> {
    this.keep(kernel);
    const comm = kernel.createComm(TARGET);
    await started(kernel, comm);
    if (!kernel.isDisposed) {
      comm.open(data);
      comm.close();
    }
  }

  private keep(kernel: Kernel): void {
    if (!this.kept.has(kernel)) {
      this.kept.set(kernel, kernel.createComm(TARGET));
      kernel.statusChanged.connect((_, status) => ENDING.includes(status) && this.kept.delete(kernel));
    }
  }
}

/** Waits until the comm has its subshell, where the kernel and the settings know such. */
export async function started(kernel: Kernel, comm: Comm): Promise<void> {
  if (kernel.supportsSubshells && kernel.commsOverSubshells !== 'disabled' && 'subshellStarted' in comm) {
    const subshell = (comm.subshellStarted as Promise<void>).catch(() => undefined);
    await Promise.race([subshell, new Promise(resolve => setTimeout(resolve, PATIENCE))]);
  }
}
