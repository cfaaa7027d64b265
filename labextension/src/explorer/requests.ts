import { Client, problemOf, RequestError, type Params, type Result } from '../shared/channel.js';
import type { ExplorerContext } from './explorer_context.js';
import { TRACE_METHODS } from './model.js';

export type TraceMethod = keyof typeof TRACE_METHODS;

/** What a page asks by itself, and nobody waits for. */
const AUTOMATIC = ['trace.follow', 'trace.facets', 'trace.tokens', 'trace.excerpts', 'sessions.rows'];

/** Whether the person need not know that a request waits for a busy kernel. */
export function isAutomatic(method: string, params: { readonly first?: number }): boolean {
  return AUTOMATIC.includes(method) || (method === 'trace.rows' && params.first !== 0);
}

/** A request failed; the message says why, and what to do. */
export class RequestFailed extends Error {}

/** Calls the methods of one explorer.  `onLost` is called while the kernel has lost the explorer, and when it has it again. */
export class LogRequests {
  /** The id of the explorer. */
  explorer = '';
  private readonly client: Client<TraceMethod>;
  private lost = false;
  private closed = false;

  constructor(
    private readonly context: ExplorerContext,
    private readonly onLost: (lost: boolean) => void
  ) {
    this.client = new Client(() => context.channel(), TRACE_METHODS);
  }

  /** Calls a method.  Rejects with `RequestFailed`; once the page has closed, never settles. */
  ask<K extends TraceMethod>(method: K, params: Omit<Params<K>, 'explorer'>): Promise<Result<K>> {
    return new Promise((resolve, reject) => {
      if (!this.closed) {
        this.result(method, params).then(
          result => this.closed || resolve(result),
          (error: Error) => this.closed || reject(error)
        );
      }
    });
  }

  /** Ends all work that waits for an answer, such as loading rows and searching a log that is still indexed. */
  close(): void {
    this.closed = true;
  }

  private async result<K extends TraceMethod>(method: K, params: Omit<Params<K>, 'explorer'>): Promise<Result<K>> {
    try {
      const result = await this.client.request(method, { explorer: this.explorer, ...params } as unknown as Params<K>);
      this.reportAnswer(false);
      return result;
    } catch (error) {
      if (!(error instanceof RequestError)) {
        throw error;
      }
      this.reportAnswer(error.reason === 'gone');
      throw new RequestFailed(problemOf(error, this.context.trans, this.context.recovery));
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
