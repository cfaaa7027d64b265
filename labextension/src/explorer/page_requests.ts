import { ExplorerLost, type ExplorerContext, type Reply, type Task } from './explorer_context.js';
import type {
  SavedFilter,
  SavedFiltersTask,
  ReviewTask,
  TraceReview,
  TraceCell,
  TraceChanges,
  TraceFilter,
  TraceFollow,
  TraceOpened,
  TracePage,
  TraceRaw,
  TraceExport,
  TraceShare,
  ShareTask,
  TraceStrip,
  TraceUsage
} from './model.js';

/** Milliseconds until a request whose reply is being computed is sent again. */
const PENDING_INTERVAL = 50;

/** A request failed; the message says why, and what to do. */
export class RequestFailed extends Error {}

/** The requests of one explorer.  They reject with `RequestFailed`.  `onLost` is called while the kernel has lost the explorer, and when it has it again. */
export class PageRequests {
  private lost = false;

  constructor(
    private readonly context: ExplorerContext,
    private readonly onLost: (lost: boolean) => void
  ) {}

  page(filter: TraceFilter, first: number, count: number): Promise<TracePage> {
    return this.request({ type: 'page', filter, first, count }, 'page');
  }

  async place(filter: TraceFilter, line: number): Promise<number> {
    return (await this.request({ type: 'place', filter, line }, 'place')).number;
  }

  open(line: number): Promise<TraceOpened> {
    return this.request({ type: 'open', line }, 'opened');
  }

  changes(): Promise<TraceChanges> {
    return this.request({ type: 'changes' }, 'changes');
  }

  /** Requests the diff of a changed file over the session. */
  fileDiff(path: string): Promise<TraceOpened> {
    return this.request({ type: 'file_diff', path }, 'opened');
  }

  follow(version: number, log: string): Promise<TraceFollow> {
    return this.request({ type: 'follow', version, log }, 'follow');
  }

  raw(line: number): Promise<TraceRaw> {
    return this.request({ type: 'raw', line }, 'raw');
  }

  /** Requests the source of a cell that queries the log. */
  cell(): Promise<TraceCell> {
    return this.request({ type: 'cell' }, 'cell');
  }

  strip(mode: TraceStrip['mode']): Promise<TraceStrip> {
    return this.request({ type: 'strip', mode }, 'strip');
  }

  usage(prices: boolean): Promise<TraceUsage> {
    return this.request({ type: 'usage', prices }, 'usage');
  }

  samples(): Promise<TraceUsage> {
    return this.request({ type: 'samples' }, 'usage');
  }

  story(): Promise<TraceExport> {
    return this.request({ type: 'story' }, 'story');
  }

  review(task: ReviewTask): Promise<TraceReview> {
    return this.request(task, 'review');
  }

  async savedFilters(task: Omit<SavedFiltersTask, 'type'>): Promise<readonly SavedFilter[]> {
    return (await this.request({ type: 'saved_filters', ...task }, 'saved_filters')).filters;
  }

  share(options: Omit<ShareTask, 'type'>): Promise<TraceShare> {
    return this.request({ type: 'share', ...options }, 'share');
  }

  private async request<T extends Reply['type']>(task: Task, type: T): Promise<Extract<Reply, { type: T }>> {
    const reply = await this.reply(task);
    if (reply.type !== type) {
      throw new RequestFailed(
        reply.type === 'problem' ? reply.text : this.context.trans.__('The kernel sent an unexpected reply. Run the cell again.')
      );
    }
    return reply as Extract<Reply, { type: T }>;
  }

  private async reply(task: Task): Promise<Reply> {
    try {
      for (;;) {
        const reply = await this.context.query(task);
        this.reportAnswer(false);
        if (reply.type !== 'pending') {
          return reply;
        }
        await new Promise(resolve => window.setTimeout(resolve, PENDING_INTERVAL));
      }
    } catch (error) {
      this.reportAnswer(error instanceof ExplorerLost);
      throw error instanceof ExplorerLost ? new RequestFailed(this.context.recovery) : error;
    }
  }

  private reportAnswer(lost: boolean): void {
    if (lost || this.lost) {
      this.onLost(lost);
    }
    this.lost = lost;
  }
}

/** Returns the message of a failed request; rethrows any other error. */
export function failureMessage(error: unknown): string {
  if (error instanceof RequestFailed) {
    return error.message;
  }
  throw error;
}
