import type { TranslationBundle } from '@jupyterlab/translation';
import type { Buffers, Methods } from './methods.js';
import { type Parser, tryParse } from './parse.js';

/** Milliseconds without an answer after which the kernel is reported as busy. */
const BUSY_AFTER = 1000;
/** Milliseconds in which the kernel must answer after it has processed the request's message. */
const ANSWER_TIMEOUT = 10_000;

export type MethodName = keyof Methods;
export type Params<M extends MethodName> = Methods[M]['params'];
export type Result<M extends MethodName> = Methods[M]['result'];
type Parsed<R> = R extends Buffers ? Omit<R, 'buffers'> : R;
/** The parsers of the results of some methods, as `make wire` generates them. */
export type Parsers<M extends MethodName> = { readonly [K in M]: Parser<Parsed<Result<K>>> };

/** Called with true when an answer is late, and with false when the request has ended, or the kernel says that its result takes longer. */
export type WaitListener = (late: boolean) => void;

/**
 * A request has no result.
 *
 * - `problem`: the kernel says why, in the message, for the person;
 * - `gone`: the kernel does not have what the method is about, has no nbtools, or has ended;
 * - `invalid`: the kernel's answer is not what this page expects: it has another version of nbtools.
 */
export class RequestError extends Error {
  constructor(
    readonly reason: 'problem' | 'gone' | 'invalid',
    message = ''
  ) {
    super(message);
  }
}

/** Returns why a request has no result; `recovery` is what the person can do when the kernel has lost what it is about. */
export function problemOf({ reason, message }: RequestError, trans: TranslationBundle, recovery: string): string {
  return { problem: message, gone: recovery, invalid: trans.__('The kernel sent an unexpected reply. Run the cell again.') }[reason];
}

/** A result as it came from the kernel, and its binary data. */
export interface RawResult {
  readonly result: unknown;
  readonly buffers: readonly ArrayBuffer[];
}

/** What answers the requests of a page: a kernel over a comm or a widget, or a file. */
export interface Channel {
  /** Calls a method.  Rejects with `RequestError`.  A busy kernel is waited for, and reported to `onWait`. */
  call(method: string, params: object, onWait?: WaitListener): Promise<RawResult>;
}

/** Calls the methods of a table of parsers, and proves each result. */
export class Client<M extends MethodName> {
  /** `channel` is called for each request, because another channel can take the place of a closed one. */
  constructor(
    private readonly channel: () => Channel,
    private readonly parsers: Parsers<M>
  ) {}

  /** Calls a method.  Rejects with `RequestError`.  A busy kernel is waited for, and reported to `onWait`. */
  async request<K extends M>(method: K, params: Params<K>, onWait?: WaitListener): Promise<Result<K>> {
    const { result, buffers } = await this.channel().call(method, params, onWait);
    const parsed = tryParse<unknown>(this.parsers[method], result);
    if (parsed === null) {
      throw new RequestError('invalid');
    }
    return (parsed === undefined ? parsed : { ...parsed, buffers }) as unknown as Result<K>;
  }
}

interface PendingRequest {
  resolve(result: RawResult): void;
  fail(error: RequestError): void;
  /** Ends the report that the answer is late. */
  endWait(): void;
  /** Whether the kernel has said that the result takes longer. */
  isComputed: boolean;
}

/**
 * The id of the last request.  All pages that show a widget get each other's answers, so it begins anywhere;
 * below 2³⁰, with which each kernel's numbers can count on.
 */
let lastId = Math.floor(Math.random() * 2 ** 30);

/** Sends requests as messages, and matches the answers to them by id. */
export abstract class MessageExchange implements Channel {
  private readonly pending = new Map<number, PendingRequest>();

  /** Sends a message.  Resolves when the kernel has processed it, if that is known; rejects if it never will. */
  protected abstract send(message: object): Promise<unknown>;

  call(method: string, params: object, onWait: WaitListener = () => undefined): Promise<RawResult> {
    const id = ++lastId;
    const busyTimer = setTimeout(() => onWait(true), BUSY_AFTER);
    const endWait = () => {
      clearTimeout(busyTimer);
      onWait(false);
    };
    const result = new Promise<RawResult>((resolve, fail) => this.pending.set(id, { resolve, fail, endWait, isComputed: false }));
    void this.post({ id, method, params });
    return result.finally(() => {
      this.pending.delete(id);
      endWait();
    });
  }

  /** Handles a message of the kernel; returns whether it answers a request of this page. */
  protected receive(message: unknown, buffers: readonly (ArrayBuffer | ArrayBufferView)[]): boolean {
    const answer = isObject(message) ? message : {};
    const request = this.pending.get(answer['id'] as number);
    if (request === undefined) {
      return false;
    }
    if ('result' in answer) {
      request.resolve({ result: answer['result'], buffers: buffers.map(arrayBuffer) });
    } else if (typeof answer['problem'] === 'string') {
      request.fail(new RequestError('problem', answer['problem']));
    } else if (answer['pending'] === true) {
      request.isComputed = true;
      request.endWait(); // the kernel is not busy
    } else {
      request.fail(new RequestError(answer['gone'] === true ? 'gone' : 'invalid'));
    }
    return true;
  }

  /** Fails all requests: the kernel cannot answer any more. */
  protected failAll(): void {
    this.pending.forEach(({ fail }) => fail(new RequestError('gone')));
  }

  /** The timeout begins when the kernel has processed the message: at once on a subshell, else after the queued cells. */
  private async post(message: { readonly id: number; readonly method: string; readonly params: object }): Promise<void> {
    const fail = (always: boolean) => {
      const request = this.pending.get(message.id);
      if (request && (always || !request.isComputed)) {
        request.fail(new RequestError('gone'));
      }
    };
    try {
      await this.send(message);
      setTimeout(() => fail(false), ANSWER_TIMEOUT);
    } catch {
      fail(true); // the kernel has restarted or ended
    }
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

/** Binary data at the beginning of a buffer of its own, as typed arrays need it. */
function arrayBuffer(data: ArrayBuffer | ArrayBufferView): ArrayBuffer {
  if (data instanceof ArrayBuffer) {
    return data;
  }
  const { buffer, byteOffset, byteLength } = data;
  return (byteLength === buffer.byteLength ? buffer : buffer.slice(byteOffset, byteOffset + byteLength)) as ArrayBuffer;
}
