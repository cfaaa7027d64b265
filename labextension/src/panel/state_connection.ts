import type { JSONObject } from '@lumino/coreutils';
import { type Comm, type Kernel, waitForSubshell } from '../live_cells/kernel_channel.js';
import { tryParse } from '../shared/parse.js';
import type { FollowedState } from '../shared/tokens.js';
import { type KernelState, parseStateMessage, STATE_TARGET, type StateReply, type StateRequest } from './model.js';

const EMPTY: FollowedState = {
  folder: '',
  root: '',
  questions: [],
  running: [],
  ended: [],
  changes: [],
  rules: null,
  servers: []
};

/** A comm with one kernel in which nbtools is loaded.  `state` is null until the kernel has a session. */
export class StateConnection {
  state: FollowedState | null = null;
  /** Seconds by which the kernel's clock is ahead of the page's. */
  clockOffset = 0;
  private readonly comm: Comm;
  private readonly opened: Promise<void>;
  private readonly pending = new Map<number, { resolve(reply: StateReply): void; reject(error: Error): void }>();
  private lastId = 0;

  constructor(
    private readonly kernel: Kernel,
    private readonly onChange: () => void,
    onClose: () => void
  ) {
    this.comm = kernel.createComm(STATE_TARGET);
    this.comm.onMsg = message => this.onMessage(message.content.data);
    this.comm.onClose = onClose;
    window.addEventListener('pagehide', this.onPageHide);
    this.opened = waitForSubshell(kernel, this.comm).then(() => {
      if (!this.comm.isDisposed && !kernel.isDisposed) {
        this.comm.open();
      }
    });
    this.opened.catch(onClose);
  }

  async request(task: StateRequest['task']): Promise<StateReply> {
    const id = ++this.lastId;
    const reply = new Promise<StateReply>((resolve, reject) => this.pending.set(id, { resolve, reject }));
    reply.catch(() => undefined);
    await this.send(id, task);
    return reply;
  }

  dispose(): void {
    window.removeEventListener('pagehide', this.onPageHide);
    this.pending.forEach(({ reject }) => reject(new Error('The kernel has ended or restarted.')));
    this.pending.clear();
    if (!this.comm.isDisposed) {
      this.comm.onClose = () => undefined;
      const isAlive = !this.kernel.isDisposed && this.kernel.connectionStatus === 'connected';
      isAlive && !['restarting', 'autorestarting', 'dead', 'terminating'].includes(this.kernel.status)
        ? this.comm.close()
        : this.comm.dispose();
    }
  }

  private readonly onPageHide = (): void => {
    this.comm.isDisposed || this.comm.close();
  };

  private async send(id: number, task: StateRequest['task']): Promise<void> {
    await this.opened;
    this.comm.send({ id, task } as unknown as JSONObject);
  }

  private onMessage(data: unknown): void {
    const message = tryParse(parseStateMessage, data);
    if (message?.reply) {
      this.pending.get(message.reply.id)?.resolve(message.reply);
      this.pending.delete(message.reply.id);
    }
    if (message?.state) {
      this.show(message.state);
    }
  }

  /** Joins a snapshot with the state before, and reports it when the browser has drawn it: then the kernel sends the next one. */
  private show(snapshot: KernelState): void {
    const before = this.state ?? EMPTY;
    this.clockOffset = snapshot.now - Date.now() / 1000;
    this.state = {
      folder: snapshot.folder,
      root: snapshot.root,
      questions: snapshot.questions ?? before.questions,
      running: snapshot.running ?? before.running,
      ended: snapshot.ended ?? before.ended,
      changes: snapshot.changes ?? before.changes,
      rules: snapshot.rules ?? before.rules,
      servers: snapshot.servers ?? before.servers
    };
    this.onChange();
    void this.send(++this.lastId, { type: 'seen', number: snapshot.number }).catch(() => undefined);
  }
}
