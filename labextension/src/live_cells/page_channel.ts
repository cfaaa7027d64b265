import type { NotebookAnswer, NotebookRequest } from '../cards/model.js';

/** Milliseconds in which another page must list its notebooks. */
const LIST_TIMEOUT = 1000;

/** The result of a task. */
export type TaskResult = Partial<Omit<NotebookAnswer, 'id' | 'client'>>;

/** Executes a task that a kernel requested; null if no answer is sent. */
export type PerformTask = (kernel: string, task: NotebookRequest['task']) => Promise<TaskResult | null>;

type Message =
  | { readonly type: 'hello' | 'here' | 'bye'; readonly from: string }
  | { readonly type: 'ask'; readonly from: string; readonly to: string; readonly kernel: string; readonly request: NotebookRequest }
  | { readonly type: 'answer'; readonly from: string; readonly to: string; readonly id: string; readonly result: TaskResult | null };

/**
 * Communicates with other pages of this browser that show notebooks of the same server.
 *
 * Notebook 7 opens each notebook in its own page, and a kernel can only send messages to the pages of its own notebooks.
 */
export class PageChannel {
  private readonly pages = new Set<string>();
  private readonly handled = new Set<string>();
  private readonly pending = new Map<string, (answer: TaskResult | null) => void>();
  private readonly channel: BroadcastChannel;

  constructor(
    server: string,
    private readonly pageId: string,
    private readonly perform: PerformTask
  ) {
    this.channel = new BroadcastChannel(`nbtools ${server}`);
    this.channel.onmessage = ({ data }: MessageEvent<Message>) => void this.receive(data);
    this.post({ type: 'hello', from: pageId });
    window.addEventListener('pagehide', () => this.post({ type: 'bye', from: pageId }));
    window.addEventListener('pageshow', () => this.post({ type: 'hello', from: pageId }));
  }

  /** Returns the notebooks that are open in other pages.  A page that does not answer in time is considered closed. */
  async listNotebooks(kernel: string, request: NotebookRequest): Promise<NotebookAnswer['notebooks']> {
    const answers = await Promise.all([...this.pages].map(peer => this.request(peer, kernel, request, LIST_TIMEOUT)));
    return answers.flatMap(answer => answer?.notebooks ?? []);
  }

  has(client: string): boolean {
    return this.pages.has(client);
  }

  /** Forwards a request to another page.  Resolves to null after `timeout` milliseconds; without one it waits indefinitely. */
  request(peer: string, kernel: string, request: NotebookRequest, timeout?: number): Promise<TaskResult | null> {
    return new Promise(resolve => {
      const key = `${request.id} ${peer}`;
      const finish = (answer: TaskResult | null) => {
        this.pending.delete(key);
        resolve(answer);
      };
      this.pending.set(key, finish);
      this.post({ type: 'ask', from: this.pageId, to: peer, kernel, request });
      if (timeout !== undefined) {
        setTimeout(() => this.pending.has(key) && (this.pages.delete(peer), finish(null)), timeout);
      }
    });
  }

  private async receive(message: Message): Promise<void> {
    if (message.type === 'bye') {
      this.pages.delete(message.from);
      return;
    }
    this.pages.add(message.from);
    if (message.type === 'hello') {
      this.post({ type: 'here', from: this.pageId });
    } else if (message.type === 'answer' && message.to === this.pageId) {
      this.pending.get(`${message.id} ${message.from}`)?.(message.result);
    } else if (message.type === 'ask' && message.to === this.pageId) {
      await this.respond(message.from, message.kernel, message.request);
    }
  }

  /** Handles a forwarded request once: every page of the kernel forwards it. */
  private async respond(page: string, kernel: string, request: NotebookRequest): Promise<void> {
    if (request.task.type !== 'list' && this.handled.has(request.id)) {
      return;
    }
    this.handled.add(request.id);
    const result = await this.perform(kernel, request.task);
    this.post({ type: 'answer', from: this.pageId, to: page, id: request.id, result });
  }

  private post(message: Message): void {
    this.channel.postMessage(message);
  }
}
