import type { JSONObject } from '@lumino/coreutils';
import { tryParse } from '../shared/parse.js';
import { type Comm, type Kernel, waitForSubshell } from '../live_cells/kernel_channel.js';
import { ExplorerLost, type Reply, type Task } from './explorer_context.js';
import { parseTraceAnswer, TRACE_TARGET, type TraceAnswer } from './model.js';

/** Milliseconds without a reply after which the kernel is reported as busy. */
const BUSY_AFTER = 1000;
/** Milliseconds in which the kernel must reply after it has processed the request's message. */
const REPLY_TIMEOUT = 10_000;

/** Called with true when a reply is late, and with false when the request has ended. */
export type WaitListener = (late: boolean) => void;

interface PendingRequest {
  answer(answer: TraceAnswer): void;
  fail(): void;
}

/** Sends explorers' requests to kernels, on one open comm for each kernel. */
class ExplorerKernels {
  private readonly connections = new WeakMap<Kernel, KernelConnection>();

  /** Sends a request and returns the reply.  Waits for a busy kernel, and reports it to `onWait`.  Rejects with `ExplorerLost`. */
  async request(kernel: Kernel, explorer: string, task: Task, onWait: WaitListener): Promise<Reply> {
    const { gone, reply } = await this.connection(kernel).request(explorer, task, onWait);
    if (gone || reply === null) {
      throw new ExplorerLost();
    }
    return reply;
  }

  private connection(kernel: Kernel): KernelConnection {
    const existing = this.connections.get(kernel);
    const connection = existing?.open ? existing : new KernelConnection(kernel);
    this.connections.set(kernel, connection);
    return connection;
  }
}

/** The connections of this page. */
export const explorerKernels = new ExplorerKernels();

/** A comm with one kernel; replies are matched to requests by id. */
class KernelConnection {
  private readonly comm: Comm;
  private readonly ready: Promise<void>;
  private readonly pending = new Map<number, PendingRequest>();
  private lastId = 0;
  private closed = false;

  constructor(kernel: Kernel) {
    this.comm = kernel.createComm(TRACE_TARGET);
    this.comm.onMsg = message => this.onMessage(message.content.data as JSONObject);
    this.comm.onClose = () => this.onClose();
    this.ready = waitForSubshell(kernel, this.comm).then(() => void this.comm.open());
    this.ready.catch(() => this.onClose());
  }

  get open(): boolean {
    return !this.closed && !this.comm.isDisposed;
  }

  request(explorer: string, task: Task, onWait: WaitListener): Promise<TraceAnswer> {
    const id = ++this.lastId;
    const busyTimer = setTimeout(() => onWait(true), BUSY_AFTER);
    const answer = new Promise<TraceAnswer>((resolve, reject) => {
      this.pending.set(id, { answer: resolve, fail: () => reject(new ExplorerLost()) });
    });
    void this.send(id, { request: { id, explorer, task } } as unknown as JSONObject);
    return answer.finally(() => {
      this.pending.delete(id);
      clearTimeout(busyTimer);
      onWait(false);
    });
  }

  /** Sends a message.  The reply's timeout starts when the kernel has processed the message: at once on a subshell, else after the queued cells. */
  private async send(id: number, data: JSONObject): Promise<void> {
    const fail = () => this.pending.get(id)?.fail();
    try {
      await this.ready;
      await this.comm.send(data).done;
      setTimeout(fail, REPLY_TIMEOUT);
    } catch {
      fail(); // the kernel has restarted or ended, and with it the comm
    }
  }

  private onMessage(data: JSONObject): void {
    const answer = tryParse(parseTraceAnswer, data['answer']);
    answer && this.pending.get(answer.id)?.answer(answer);
  }

  private onClose(): void {
    this.closed = true;
    this.pending.forEach(request => request.fail());
  }
}
