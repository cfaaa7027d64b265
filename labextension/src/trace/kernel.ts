import type { JSONObject } from '@lumino/coreutils';
import { attempt } from '../parse.js';
import { type Comm, type Kernel, started } from '../replies.js';
import { Gone, type Reply, type Task } from './desk.js';
import { parseTraceAnswer, TRACE_TARGET, type TraceAnswer } from './wire.js';

/** Milliseconds after which a kernel that has not taken a question up is said to be busy. */
const LATE = 1000;
/** Milliseconds that a kernel has to answer, from when it has taken the question up. */
const PATIENCE = 10_000;

/** Told that an answer is late, and that it is no longer awaited. */
export type Waiting = (late: boolean) => void;

interface Asked {
  answer(answer: TraceAnswer): void;
  fail(): void;
}

/** What this page asks kernels about their explorers: one comm for each kernel, kept open. */
export class TraceKernels {
  private readonly lines = new WeakMap<Kernel, Line>();

  /** Rejects with `Gone`; a kernel that a cell blocks is waited for, which `waiting` is told. */
  async ask(kernel: Kernel, explorer: string, task: Task, waiting: Waiting): Promise<Reply> {
    const { gone, reply } = await this.line(kernel).ask(explorer, task, waiting);
    if (gone || reply === null) {
      throw new Gone();
    }
    return reply;
  }

  private line(kernel: Kernel): Line {
    const kept = this.lines.get(kernel);
    const line = kept?.open ? kept : new Line(kernel);
    this.lines.set(kernel, line);
    return line;
  }
}

/** One comm, on which questions and answers find each other by number. */
class Line {
  private readonly comm: Comm;
  private readonly ready: Promise<void>;
  private readonly asked = new Map<number, Asked>();
  private last = 0;
  private ended = false;

  constructor(kernel: Kernel) {
    this.comm = kernel.createComm(TRACE_TARGET);
    this.comm.onMsg = message => this.take(message.content.data as JSONObject);
    this.comm.onClose = () => this.end();
    this.ready = started(kernel, this.comm).then(() => void this.comm.open());
    this.ready.catch(() => this.end());
  }

  get open(): boolean {
    return !this.ended && !this.comm.isDisposed;
  }

  ask(explorer: string, task: Task, waiting: Waiting): Promise<TraceAnswer> {
    const id = ++this.last;
    const late = setTimeout(() => waiting(true), LATE);
    const answered = new Promise<TraceAnswer>((resolve, reject) => {
      this.asked.set(id, { answer: resolve, fail: () => reject(new Gone()) });
    });
    void this.send(id, { request: { id, explorer, task } } as unknown as JSONObject);
    return answered.finally(() => {
      this.asked.delete(id);
      clearTimeout(late);
      waiting(false);
    });
  }

  /** What was sent counts as taken up when the kernel is done with it, be that at once on a subshell or when the cells have run. */
  private async send(id: number, data: JSONObject): Promise<void> {
    const fail = () => this.asked.get(id)?.fail();
    try {
      await this.ready;
      await this.comm.send(data).done;
      setTimeout(fail, PATIENCE);
    } catch {
      fail(); // the kernel has restarted or ended, and with it the comm
    }
  }

  private take(data: JSONObject): void {
    const answer = attempt(parseTraceAnswer, data['answer']);
    answer && this.asked.get(answer.id)?.answer(answer);
  }

  private end(): void {
    this.ended = true;
    this.asked.forEach(one => one.fail());
  }
}
