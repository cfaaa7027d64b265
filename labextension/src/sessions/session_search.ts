import { readColumns } from '../shared/columns.js';
import type { SessionsContext } from './context.js';
import type { FoundSessions } from './model.js';

/** The hits of a search in the contents of a session. */
export interface ContentHits {
  /** The number of steps that contain the text. */
  readonly steps: number;
  /** The surroundings of the first hit. */
  readonly excerpt: string;
}

/** What a search has found so far. */
export interface SessionsFound {
  readonly text: string;
  /** The keys of the sessions in whose title, project or prompts the text is. */
  readonly titles: ReadonlySet<number>;
  /** By the keys of sessions. */
  readonly contents: ReadonlyMap<number, ContentHits>;
  /** The kernel's last answer; null before the first. */
  readonly answer: FoundSessions | null;
}

/** Searches all sessions for a text.  The kernel answers in parts, those that changed last first. */
export class SessionSearch {
  /** Null without a text. */
  found: SessionsFound | null;
  private run = 0;

  constructor(
    private readonly context: Pick<SessionsContext, 'client'>,
    private readonly explorer: string,
    /** The text that is going to be searched for first: until the answer, nothing is found. */
    text: string,
    /** Called with each further part of an answer, and with the error if there is none. */
    private readonly onMore: (error: unknown) => void
  ) {
    this.found = text ? { text, titles: new Set(), contents: new Map(), answer: null } : null;
  }

  /** Whether not all sessions are searched yet. */
  get isRunning(): boolean {
    return (this.found?.answer?.left ?? 0) > 0;
  }

  /** Ends the search. */
  stop(): void {
    this.run++;
  }

  /** Searches for another text, or for the same one in what has changed; resolves with the first part of the answer.  Until then, `found` stays. */
  async search(text: string): Promise<void> {
    const run = ++this.run;
    if (text === '') {
      this.found = null;
      return;
    }
    await this.ask(text, true, run);
    void this.askMore(text, run);
  }

  private async askMore(text: string, run: number): Promise<void> {
    try {
      while (run === this.run && this.isRunning) {
        await this.ask(text, false, run);
        run === this.run && this.onMore(null);
      }
    } catch (error) {
      run === this.run && this.onMore(error);
    }
  }

  private async ask(text: string, titles: boolean, run: number): Promise<void> {
    const before = this.found?.text === text ? this.found : null;
    const { search = 0, known = 0 } = before?.answer ?? {};
    const answer = await this.context.client.request('sessions.search', { explorer: this.explorer, text, search, known, titles });
    const columns = answer.buffers[0] ? readColumns(answer.block, answer.buffers[0]) : null;
    if (run !== this.run) {
      return;
    }
    const contents = new Map(before && answer.search === search ? before.contents : []);
    for (let i = 0; i < (columns?.count ?? 0); i++) {
      const key = columns!.number('key')[i]!;
      const steps = columns!.number('hits')[i]!;
      steps ? contents.set(key, { steps, excerpt: columns!.text('excerpt', i) }) : contents.delete(key);
    }
    this.found = { text, titles: titles || !before ? new Set(answer.keys) : before.titles, contents, answer };
  }
}

/** Returns the parts of an excerpt, and whether each is a word of the text that was searched. */
export function markedParts(excerpt: string, text: string): [string, boolean][] {
  const words = [...text.matchAll(/"([^"]+)"|(\S+)/g)].map(([, phrase, word]) => (phrase ?? word)!.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  if (!words.length) {
    return [[excerpt, false]];
  }
  words.sort((a, b) => b.length - a.length);
  return excerpt
    .split(new RegExp(`(${words.join('|')})`, 'gi'))
    .map((part, i): [string, boolean] => [part, i % 2 === 1])
    .filter(([part]) => part !== '');
}
