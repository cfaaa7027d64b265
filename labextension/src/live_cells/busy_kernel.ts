import { KernelMessage } from '@jupyterlab/services';
import type { Kernel } from './kernel_channel.js';

/** Milliseconds after which a kernel that has not answered is asked on a subshell. */
const BUSY_AFTER = 700;

/** Returns whether the kernel has open comms of a target.  A kernel that is executing a cell is asked on a subshell, if it has any. */
export async function hasComms(kernel: Kernel, target: string): Promise<boolean> {
  const { content } = await unlessBusy(kernel, () => kernel.requestCommInfo({ target_name: target }));
  return content.status === 'ok' && Object.keys(content.comms).length > 0;
}

/** Resolves when the page knows what the kernel is, and so whether it has subshells; also while the kernel is executing a cell. */
export async function kernelInfo(kernel: Kernel): Promise<void> {
  await unlessBusy(kernel, () => kernel.info);
}

/** Asks the kernel; after some time on a subshell, which answers while a cell runs. */
async function unlessBusy<T>(kernel: Kernel, ask: () => Promise<T>): Promise<T> {
  const answer = ask();
  const busy = new Promise<null>(resolve => setTimeout(resolve, BUSY_AFTER, null));
  return (await Promise.race([answer, busy])) ?? (await Promise.race([answer, askOnSubshell(kernel, ask)]));
}

/**
 * Sends a request on a new subshell, which is deleted after the answer.
 *
 * JupyterLab learns from the kernel's info whether it has subshells.  A page that was loaded while a cell runs has no info yet, and would
 * not use subshells for comms until the cell has ended; so the info is requested on the subshell, too.
 */
async function askOnSubshell<T>(kernel: Kernel, ask: () => Promise<T>): Promise<T> {
  const reply = await control<KernelMessage.ICreateSubshellReplyMsg>(kernel, 'create_subshell_request', {});
  const { subshell_id } = reply.content;
  if (!subshell_id) {
    return new Promise(() => undefined); // the kernel has no subshells and answers when the cell has ended
  }
  kernel.subshellId = subshell_id;
  const answers = Promise.all([ask(), kernel.requestKernelInfo()]);
  kernel.subshellId = null;
  try {
    return (await answers)[0];
  } finally {
    void control(kernel, 'delete_subshell_request', { subshell_id }).catch(() => undefined);
  }
}

async function control<R extends KernelMessage.IControlMessage>(
  kernel: Kernel,
  msgType: 'create_subshell_request' | 'delete_subshell_request',
  content: { subshell_id?: string }
): Promise<R> {
  const options = { msgType, channel: 'control', username: kernel.username, session: kernel.clientId, content } as const;
  const message = KernelMessage.createMessage(options as KernelMessage.IOptions<KernelMessage.ICreateSubshellRequestMsg>);
  return (await kernel.sendControlMessage(message, true).done) as unknown as R;
}
