import type { AnyModel } from '@anywidget/types';
import { tryParse } from '../shared/parse.js';
import { ExplorerLost, type Reply, type Task } from './explorer_context.js';
import { parseTraceAnswer, type TraceAnswer } from './model.js';

/** Milliseconds without a reply after which the kernel is reported as busy. */
const BUSY_AFTER = 1000;
/** The id of the last request in this page: a widget's connections get each other's answers. */
let lastId = 0;

/**
 * Sends an explorer's requests as custom messages of its widget; replies are matched to requests by id.
 *
 * A widget does not learn that its kernel has ended: a request then stays open, and the kernel is reported as busy.
 */
export class ModelConnection {
  private readonly pending = new Map<number, (answer: TraceAnswer) => void>();

  private readonly listener = (message: unknown) => this.onMessage(message);

  constructor(
    private readonly model: AnyModel,
    private readonly explorer: string,
    private readonly onWait: (late: boolean) => void
  ) {
    model.on('msg:custom', this.listener);
  }

  /** Sends a request and returns its reply.  Rejects with `ExplorerLost` if the kernel no longer has the explorer. */
  async query(task: Task): Promise<Reply> {
    const id = ++lastId;
    const onWait = task.type === 'follow' ? () => undefined : this.onWait; // following says so itself
    const busyTimer = setTimeout(() => onWait(true), BUSY_AFTER);
    const answer = new Promise<TraceAnswer>(resolve => this.pending.set(id, resolve));
    this.model.send({ request: { id, explorer: this.explorer, task } });
    const { gone, reply } = await answer;
    clearTimeout(busyTimer);
    onWait(false);
    if (gone || reply === null) {
      throw new ExplorerLost();
    }
    return reply;
  }

  dispose(): void {
    this.model.off('msg:custom', this.listener);
    this.pending.clear();
  }

  private onMessage(message: unknown): void {
    const answer = isObject(message) ? tryParse(parseTraceAnswer, message['answer']) : null;
    if (answer) {
      this.pending.get(answer.id)?.(answer);
      this.pending.delete(answer.id);
    }
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
