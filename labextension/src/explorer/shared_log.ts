import { RequestError, type Channel, type RawResult } from '../shared/channel.js';
import type { Columns } from '../shared/columns.js';
import type { Span } from '../cards/model.js';
import type { RowsReply } from './loading.js';
import type { SharedLog } from './shared_model.js';
import { findTerms, searchedText, snippetOf, type SearchedLine } from './shared_search.js';

interface Params {
  readonly line: number;
  readonly lines: readonly number[];
  readonly text: string;
}

/** Answers an explorer's requests from the data of a shared file, as a kernel does from a log. */
export class SharedLogChannel implements Channel {
  private readonly texts: (string | undefined)[] = [];
  /** The answer to the request for all rows. */
  readonly rows: RowsReply;

  /** `data` are the log's rows, which are read as `columns` too. */
  constructor(
    private readonly log: SharedLog,
    data: ArrayBuffer,
    private readonly columns: Columns
  ) {
    this.rows = { ...log.rows, buffers: [data] };
  }

  async call(method: string, params: object): Promise<RawResult> {
    const { log } = this;
    const { line, lines, text } = params as Params;
    switch (method) {
      case 'trace.rows':
        return { result: this.rows, buffers: this.rows.buffers };
      case 'trace.facets':
        return { result: { version: 0, facets: log.facets }, buffers: [] };
      case 'trace.tokens':
        return { result: { version: 0, block: null }, buffers: [] };
      case 'trace.search':
        return this.search(text);
      case 'trace.excerpts':
        return { result: { version: 0, excerpts: lines.map(each => this.excerpt(each, text)) }, buffers: [] };
      case 'trace.open':
        return { result: log.opened[line], buffers: [] };
      default:
        throw new RequestError('problem', 'A shared file does not contain this.');
    }
  }

  private search(query: string): RawResult {
    const terms = findTerms(query);
    const all = this.log.opened.map((_, line) => line);
    const found = Uint32Array.from(all.filter(line => terms.every(term => term.test(this.text(line)))));
    const block = { count: found.length, columns: [{ name: 'line', kind: 'u32', at: 0, words: [] }] };
    return { result: { version: 0, indexed: 100, block }, buffers: [found.buffer as ArrayBuffer] };
  }

  private excerpt(line: number, query: string): readonly Span[] {
    const terms = findTerms(query);
    return terms.length ? snippetOf(this.line(line), this.text(line), terms) : [];
  }

  private text(line: number): string {
    return (this.texts[line] ??= searchedText(this.line(line), this.log.opened[line]!));
  }

  private line(line: number): SearchedLine {
    return { name: this.columns.word('name', line), subject: this.columns.text('subject', line) };
  }
}
