import type { NotebookPanel } from '@jupyterlab/notebook';
import type { JSONObject } from '@lumino/coreutils';
import { isObject, MessageExchange, RequestError, type Channel } from '../shared/channel.js';
import { CHANNEL_TARGET } from '../shared/methods.js';
import { kernelInfo } from './busy_kernel.js';

export type Kernel = NonNullable<NonNullable<NotebookPanel['sessionContext']['session']>['kernel']>;
type Comm = ReturnType<Kernel['createComm']>;

const SUBSHELL_TIMEOUT = 1000;
export const ENDING_STATUSES: readonly string[] = ['restarting', 'autorestarting', 'terminating', 'dead'];

/** What a page sends to itself when the kernel has closed a channel, or has ended. */
export const CLOSED_EVENT = 'closed';

/** The open channels of this page: those of connections, and the last ones by the ids of their kernels. */
const channels = new WeakMap<Kernel, KernelChannel>();
const lastChannels = new Map<string, KernelChannel>();

/**
 * Returns the channel to a kernel; it stays open.  After the kernel has closed it, because it has no nbtools, or has ended, another one is opened.
 *
 * Of several connections to a kernel, JupyterLab lets only one handle comms: the others use its channel.
 */
export function kernelChannel(kernel: Kernel | null | undefined): Channel {
  if (!kernel) {
    return NO_CHANNEL;
  }
  const opened = channels.get(kernel);
  if (opened) {
    return opened;
  }
  return kernel.isDisposed || !kernel.handleComms ? (lastChannels.get(kernel.id) ?? NO_CHANNEL) : new KernelChannel(kernel);
}

/** Called with what comes with an event. */
export type EventListener = (params: unknown) => void;

const listeners = new WeakMap<Kernel, Map<string, EventListener>>();

/** Calls a listener with each event of a name that the kernel sends: to this page over its channel, or to all pages by opening a comm. */
export function onEvent(kernel: Kernel, event: string, listener: EventListener): void {
  const known = listeners.get(kernel) ?? new Map<string, EventListener>();
  known.set(event, listener);
  if (!listeners.has(kernel)) {
    listeners.set(kernel, known);
    kernel.registerCommTarget(CHANNEL_TARGET, (_, { content }) => {
      // The kernel has nbtools.  Its subshell must not end with the comm of this event while the answer is sent.
      kernelChannel(kernel);
      notify(kernel, content.data);
    });
  }
}

function notify(kernel: Kernel, message: unknown): void {
  if (isObject(message) && typeof message['event'] === 'string') {
    listeners.get(kernel)?.get(message['event'])?.(message['params']);
  }
}

const NO_CHANNEL: Channel = { call: () => Promise.reject(new RequestError('gone')) };

/**
 * A comm with one kernel.
 *
 * It is opened on a subshell, where the kernel has any, so that it also reaches a kernel that is executing a cell.  Comms with the same target
 * share a subshell, which ends when the last of them is closed; messages sent at that moment are lost.  So one comm stays open.
 */
class KernelChannel extends MessageExchange {
  private readonly comm: Comm;
  private readonly ready: Promise<unknown>;

  constructor(private readonly kernel: Kernel) {
    super();
    this.comm = kernel.createComm(CHANNEL_TARGET);
    this.comm.onMsg = ({ content, buffers }) => void (this.receive(content.data, buffers ?? []) || notify(kernel, content.data));
    this.comm.onClose = this.onClose;
    kernel.statusChanged.connect(this.onStatus, this);
    kernel.disposed.connect(this.end, this);
    window.addEventListener('pagehide', this.onPageHide);
    channels.set(kernel, this);
    lastChannels.set(kernel.id, this);
    this.ready = kernelInfo(kernel)
      .then(() => waitForSubshell(kernel, this.comm))
      .then(() => this.comm.open());
    this.ready.catch(this.onClose);
  }

  protected async send(message: object): Promise<unknown> {
    await this.ready;
    return this.comm.send(message as JSONObject).done;
  }

  private onStatus(_: Kernel, status: Kernel['status']): void {
    if (ENDING_STATUSES.includes(status)) {
      this.onClose();
    }
  }

  /** The kernel has closed the comm, or has ended.  Another connection to it has a channel of its own, so the end of this one says nothing. */
  private readonly onClose = (): void => {
    this.end();
    notify(this.kernel, { event: CLOSED_EVENT });
  };

  private end(): void {
    if (channels.get(this.kernel) !== this) {
      return; // it has ended before
    }
    channels.delete(this.kernel);
    if (lastChannels.get(this.kernel.id) === this) {
      lastChannels.delete(this.kernel.id);
    }
    this.kernel.statusChanged.disconnect(this.onStatus, this);
    this.kernel.disposed.disconnect(this.end, this);
    window.removeEventListener('pagehide', this.onPageHide);
    this.comm.dispose();
    this.failAll();
  }

  /** Says that the page goes: otherwise the kernel keeps the comm. */
  private readonly onPageHide = (): void => {
    this.comm.isDisposed || this.kernel.isDisposed || this.comm.close();
  };
}

/** Waits until the comm's subshell has started, if the kernel and the settings support subshells. */
async function waitForSubshell(kernel: Kernel, comm: Comm): Promise<void> {
  if (kernel.supportsSubshells && kernel.commsOverSubshells !== 'disabled' && 'subshellStarted' in comm) {
    const subshell = (comm.subshellStarted as Promise<void>).catch(() => undefined);
    await Promise.race([subshell, new Promise(resolve => setTimeout(resolve, SUBSHELL_TIMEOUT))]);
  }
}
