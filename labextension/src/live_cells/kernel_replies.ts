import type { NotebookPanel } from '@jupyterlab/notebook';
import type { JSONObject } from '@lumino/coreutils';

export type Kernel = NonNullable<NonNullable<NotebookPanel['sessionContext']['session']>['kernel']>;
export type Comm = ReturnType<Kernel['createComm']>;

const TARGET = 'nbtools';
const SUBSHELL_TIMEOUT = 1000;
export const ENDING_STATUSES: readonly string[] = ['restarting', 'autorestarting', 'terminating', 'dead'];

/**
 * Sends answers to kernels on comms that the page opens.  On a subshell they reach a kernel that is executing a cell.
 *
 * Comms with the same target share a subshell, which ends when the last of them is closed; messages sent at that moment are lost.
 * Therefore one comm stays open for each kernel.
 */
export class KernelReplies {
  private readonly openComms = new WeakMap<Kernel, Comm>();

  async send(kernel: Kernel, data: JSONObject): Promise<void> {
    this.keepOpen(kernel);
    const comm = kernel.createComm(TARGET);
    await waitForSubshell(kernel, comm);
    if (!kernel.isDisposed) {
      comm.open(data);
      comm.close();
    }
  }

  private keepOpen(kernel: Kernel): void {
    if (!this.openComms.has(kernel)) {
      this.openComms.set(kernel, kernel.createComm(TARGET));
      kernel.statusChanged.connect((_, status) => ENDING_STATUSES.includes(status) && this.openComms.delete(kernel));
    }
  }
}

/** Waits until the comm's subshell has started, if the kernel and the settings support subshells. */
export async function waitForSubshell(kernel: Kernel, comm: Comm): Promise<void> {
  if (kernel.supportsSubshells && kernel.commsOverSubshells !== 'disabled' && 'subshellStarted' in comm) {
    const subshell = (comm.subshellStarted as Promise<void>).catch(() => undefined);
    await Promise.race([subshell, new Promise(resolve => setTimeout(resolve, SUBSHELL_TIMEOUT))]);
  }
}
