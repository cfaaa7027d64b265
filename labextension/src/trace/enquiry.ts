import { Gone, type Desk, type Reply, type Task } from './desk.js';
import type { CellTask, TraceCell, TraceFilter, TraceOpened, TracePage, TraceRaw, TraceStory } from './wire.js';

/** There is no answer; the message says why, and what to do. */
export class Unanswered extends Error {}

/** The questions of one explorer.  They reject with `Unanswered`, and `told` hears whether the kernel still knows the explorer. */
export class Enquiry {
  constructor(
    private readonly desk: Desk,
    private readonly told: (gone: boolean) => void
  ) {}

  page(filter: TraceFilter, first: number, count: number): Promise<TracePage> {
    return this.ask({ type: 'page', filter, first, count }, 'page');
  }

  async place(filter: TraceFilter, line: number): Promise<number> {
    return (await this.ask({ type: 'place', filter, line }, 'place')).number;
  }

  open(line: number): Promise<TraceOpened> {
    return this.ask({ type: 'open', line }, 'opened');
  }

  raw(line: number): Promise<TraceRaw> {
    return this.ask({ type: 'raw', line }, 'raw');
  }

  cell(action: CellTask['action']): Promise<TraceCell> {
    return this.ask({ type: 'cell', action }, 'cell');
  }

  story(): Promise<TraceStory> {
    return this.ask({ type: 'story' }, 'story');
  }

  private async ask<T extends Reply['type']>(task: Task, type: T): Promise<Extract<Reply, { type: T }>> {
    const reply = await this.reply(task);
    if (reply.type !== type) {
      throw new Unanswered(reply.type === 'problem' ? reply.text : this.desk.trans.__('The kernel answered something else.'));
    }
    return reply as Extract<Reply, { type: T }>;
  }

  private async reply(task: Task): Promise<Reply> {
    try {
      const reply = await this.desk.query(task);
      this.told(false);
      return reply;
    } catch (error) {
      this.told(error instanceof Gone);
      throw error instanceof Gone ? new Unanswered(this.desk.trans.__('Run the cell again to search, filter and open calls.')) : error;
    }
  }
}

/** Why there was no answer; throws again what is no such reason. */
export function reason(error: unknown): string {
  if (error instanceof Unanswered) {
    return error.message;
  }
  throw error;
}
