import { decode, type Columns, type Numbers, type Parts } from '../shared/columns.js';
import type { LineMoves } from './line_moves.js';

/** A row of the list.  `line` is its index in the whole log, from 0; `number` is its step number as displayed. */
export interface LogRow {
  readonly line: number;
  readonly number: string;
  readonly icon: string;
  readonly name: string;
  readonly subject: string;
  readonly right: string;
  readonly tone: string;
  readonly depth: number;
  /** The number of lines nested under it. */
  readonly below: number;
  /** Whether it is a tool call, not a message. */
  readonly call: boolean;
  readonly live: boolean;
  readonly added: number;
  readonly removed: number;
}

/** A value that rows can be filtered by: `key` is `facet:value`.  Rows name it by its index among the chips. */
export interface Chip {
  readonly facet: string;
  readonly key: string;
  readonly label: string;
  readonly title: string;
}

export type Order = 'tokens' | 'duration';

/** What a list is sorted by, of one line: a short text, and what else is known of it. */
export interface Amount {
  readonly text: string;
  readonly detail: string;
}

const CALL = 1;
const LIVE = 2;
/** The slot of a line that is not loaded. */
const MISSING = 2 ** 32 - 1;
const NUMBERS = {
  depth: Uint16Array,
  below: Uint32Array,
  flags: Uint8Array,
  added: Uint32Array,
  removed: Uint32Array,
  seconds: Float64Array
};
type NumberName = keyof typeof NUMBERS;
const WORDS = ['icon', 'name', 'right', 'tone'] as const;
type WordName = (typeof WORDS)[number];
const TEXTS = ['number', 'subject'] as const;
/** Most rows that are kept as objects. */
const MAX_OBJECTS = 1000;

/**
 * The rows of a log: those that are loaded, some of which may be missing.  A snapshot never changes.
 *
 * The values of rows are in a store that all snapshots share; a snapshot knows the slot of each of its lines there.
 */
export class LogRows {
  private readonly known = new Map<string, unknown>();

  private constructor(
    private readonly store: RowStore,
    private readonly slots: Uint32Array,
    private readonly tokens: TokenColumn | null
  ) {}

  /** Returns a log of which nothing is loaded. */
  static empty(total: number): LogRows {
    return new LogRows(new RowStore(), new Uint32Array(total).fill(MISSING), null);
  }

  get total(): number {
    return this.slots.length;
  }

  get chips(): readonly Chip[] {
    return this.store.chips;
  }

  /** The first line that is not loaded; null if all are. */
  get firstMissing(): number | null {
    return this.once('missing', () => {
      const line = this.slots.indexOf(MISSING);
      return line < 0 ? null : line;
    });
  }

  /** Returns the rows with a stretch of them.  `chips` are those from the index `known` on. */
  with(first: number, columns: Columns, chips: readonly Chip[], known: number): LogRows {
    const lines = new Uint32Array(columns.count).map((_, i) => first + i);
    return this.placed(this.slots.slice(), lines, columns, chips, known, this.tokens);
  }

  /** Returns the rows of the log that has grown: `columns` are the rows that are new or have changed, at the lines in the column `line`. */
  grown(moves: LineMoves, columns: Columns, chips: readonly Chip[], known: number): LogRows {
    const tokens = this.tokens && { ...this.tokens, at: moves.gather(this.tokens.at, MISSING) };
    return this.placed(moves.gather(this.slots, MISSING), columns.number('line'), columns, chips, known, tokens);
  }

  /** Returns the rows with the tokens of their requests: a row of `columns` for each line. */
  withTokens(columns: Columns): LogRows {
    const at = new Uint32Array(this.total).map((_, line) => (line < columns.count ? line : MISSING));
    return new LogRows(this.store, this.slots, { columns, at });
  }

  /** Returns the row at a line; null if it is not loaded. */
  row(line: number): LogRow | null {
    const slot = this.slots[line] ?? MISSING;
    return slot === MISSING ? null : this.store.row(slot, line);
  }

  /** The tokens of the request that begins at a line, or the duration of its call; empty where they are unknown. */
  amountAt(line: number, order: Order): Amount {
    const amount = this.amounts(order)[line] ?? NaN;
    if (Number.isNaN(amount)) {
      return { text: '', detail: '' };
    }
    if (order === 'duration') {
      return { text: elapsed(amount), detail: '' };
    }
    const { columns, at } = this.tokens!;
    return { text: columns.word('short', at[line]!), detail: columns.word('text', at[line]!) };
  }

  /** Whether the lines can be sorted: some line has an amount, or that is not known yet. */
  hasAmounts(order: Order): boolean {
    return this.once(`has ${order}`, () => {
      const isKnown = this.firstMissing === null && (order === 'duration' || this.tokens !== null);
      return !isKnown || this.amounts(order).some(amount => !Number.isNaN(amount));
    });
  }

  /** How the step of a line ended; empty where it is not loaded. */
  toneAt(line: number): string {
    const slot = this.slots[line] ?? MISSING;
    return slot === MISSING ? '' : this.store.word('tone', slot);
  }

  /** Returns the line with a step number; null if there is none. */
  lineOf(number: string): number | null {
    for (let line = 0; line < this.total; line++) {
      if (this.row(line)?.number === number) {
        return line;
      }
    }
    return null;
  }

  /** Returns how deep each line is nested. */
  get depths(): Uint32Array {
    return this.column('depth');
  }

  /** Returns the number of lines nested under each line. */
  get below(): Uint32Array {
    return this.column('below');
  }

  /** Returns 1 for each line that is a call, else 0. */
  get calls(): Uint32Array {
    return this.once('calls', () => this.column('flags').map(flags => flags & CALL));
  }

  /** Returns the tokens or seconds of each line; NaN where they are unknown. */
  amounts(order: Order): Float64Array {
    return this.once(order, () => {
      const amounts = new Float64Array(this.total).fill(NaN);
      const [values, at] = order === 'duration' ? [this.store.numbers.seconds.values, this.slots] : this.tokenValues();
      at.forEach((from, line) => from === MISSING || (amounts[line] = values[from] ?? NaN));
      return amounts;
    });
  }

  /** Returns the lines that have a chip, in order. */
  linesOf(key: string): Uint32Array {
    const id = this.store.ids.get(key);
    const { starts, lines } = this.lists;
    return id === undefined ? lines.subarray(0, 0) : lines.subarray(starts[id], starts[id + 1]);
  }

  /** Returns the chips of a facet that occur, in their order, or those with the most lines first. */
  offered(facet: string, mostFirst: number | null): readonly Chip[] {
    return this.once(`offered ${facet}`, () => {
      const counted = this.chips.filter(chip => chip.facet === facet).map(chip => ({ chip, count: this.linesOf(chip.key).length }));
      const occurring = counted.filter(({ count }) => count > 0);
      if (mostFirst !== null) {
        occurring.sort((a, b) => b.count - a.count || (a.chip.key < b.chip.key ? -1 : 1)).splice(mostFirst);
      }
      return occurring.map(({ chip }) => chip);
    });
  }

  /** The lines of each chip, one chip's after the other's. */
  private get lists(): { readonly starts: Uint32Array; readonly lines: Uint32Array } {
    return this.once('lists', () => {
      const { starts: from, values } = this.store.chipIds;
      const starts = new Uint32Array(this.chips.length + 2); // one ahead: filling moves each start to its end
      const each = (act: (id: number, line: number) => void) =>
        this.slots.forEach((slot, line) => {
          for (let at = slot === MISSING ? Infinity : from.values[slot]!; at < from.values[slot + 1]!; at++) {
            values.values[at]! < this.chips.length && act(values.values[at]!, line);
          }
        });
      each(id => starts[id + 2]!++);
      starts.forEach((count, id) => id > 0 && (starts[id] = count + starts[id - 1]!));
      const lines = new Uint32Array(starts.at(-1)!);
      each((id, line) => (lines[starts[id + 1]!++] = line));
      return { starts, lines };
    });
  }

  private placed(
    slots: Uint32Array,
    lines: Numbers,
    columns: Columns,
    chips: readonly Chip[],
    known: number,
    tokens: TokenColumn | null
  ): LogRows {
    const slot = this.store.append(columns, chips, known);
    lines.forEach((line, i) => line < slots.length && (slots[line] = slot + i));
    return new LogRows(this.store, slots, tokens);
  }

  private tokenValues(): [Numbers, Uint32Array] {
    const { columns, at } = this.tokens ?? { columns: null, at: new Uint32Array(0) };
    return [columns?.number('tokens') ?? at, at];
  }

  private column(name: NumberName): Uint32Array {
    const { values } = this.store.numbers[name];
    return this.once(name, () => this.slots.map(slot => values[slot] ?? 0));
  }

  /** Returns what was made of these rows before, else makes it. */
  private once<T>(name: string, make: () => T): T {
    if (!this.known.has(name)) {
      this.known.set(name, make());
    }
    return this.known.get(name) as T;
  }
}

/** The tokens of requests, and which of these belongs to each line. */
interface TokenColumn {
  readonly columns: Columns;
  readonly at: Uint32Array;
}

/** Rows in the order in which they came; each one stays in its slot. */
class RowStore {
  readonly chips: Chip[] = [];
  readonly ids = new Map<string, number>();
  readonly numbers = Object.fromEntries(Object.entries(NUMBERS).map(([name, type]) => [name, new Growing<Numbers>(new type(0))])) as Record<
    NumberName,
    Growing<Numbers>
  >;
  readonly chipIds = new GrowingParts(new Uint32Array(0));
  private readonly words = Object.fromEntries(WORDS.map(name => [name, new Growing(new Uint32Array(0))])) as Record<
    WordName,
    Growing<Uint32Array>
  >;
  private readonly texts = { number: new GrowingParts(new Uint8Array(0)), subject: new GrowingParts(new Uint8Array(0)) };
  private readonly dictionary: string[] = [];
  private readonly wordIds = new Map<string, number>();
  private readonly objects = new Map<number, LogRow>();

  /** Appends rows, and chips that have the ids from `known` on; returns the slot of the first row. */
  append(columns: Columns, chips: readonly Chip[], known: number): number {
    const first = this.numbers.flags.size;
    for (const name of Object.keys(NUMBERS) as NumberName[]) {
      this.numbers[name].append(columns.number(name));
    }
    for (const name of WORDS) {
      const ids = columns.words(name).map(word => this.wordId(word));
      const none = this.wordId('');
      this.words[name].append(new Uint32Array(columns.number(name)).map(id => ids[id] ?? none));
    }
    TEXTS.forEach(name => this.texts[name].append(columns.encoded(name)));
    this.chipIds.append(columns.lists('chips'));
    for (const chip of chips.slice(Math.max(this.chips.length - known, 0))) {
      this.ids.set(chip.key, this.chips.push(chip) - 1);
    }
    return first;
  }

  row(slot: number, line: number): LogRow {
    const known = this.objects.get(slot);
    if (known?.line === line) {
      return known;
    }
    const number = (name: NumberName) => this.numbers[name].values[slot]!;
    const word = (name: WordName) => this.word(name, slot);
    const row = {
      line,
      number: this.texts.number.text(slot),
      icon: word('icon'),
      name: word('name'),
      subject: this.texts.subject.text(slot),
      right: word('right'),
      tone: word('tone'),
      depth: number('depth'),
      below: number('below'),
      call: (number('flags') & CALL) !== 0,
      live: (number('flags') & LIVE) !== 0,
      added: number('added'),
      removed: number('removed')
    };
    this.objects.size < MAX_OBJECTS || this.objects.clear();
    this.objects.set(slot, row);
    return row;
  }

  word(name: WordName, slot: number): string {
    return this.dictionary[this.words[name].values[slot]!]!;
  }

  private wordId(word: string): number {
    const id = this.wordIds.get(word) ?? this.dictionary.push(word) - 1;
    this.wordIds.set(word, id);
    return id;
  }
}

/** Formats seconds as the kernel does: `0.03 s`, `12.4 s`, `2 min 5 s`, `1 h 10 min`. */
function elapsed(seconds: number): string {
  if (seconds < 59.95) {
    return `${seconds < 1 ? Number(Math.max(seconds, 0).toFixed(2)) : seconds.toFixed(1)} s`;
  }
  const [minutes, rest] = [Math.floor(Math.round(seconds) / 60), Math.round(seconds) % 60];
  if (minutes < 60) {
    return rest ? `${minutes} min ${rest} s` : `${minutes} min`;
  }
  return `${Math.floor(minutes / 60).toLocaleString('en-US')} h ${minutes % 60} min`;
}

/** Numbers that grow at their end. */
class Growing<T extends Numbers> {
  size: number;

  constructor(public values: T) {
    this.size = values.length;
  }

  append(more: Numbers): void {
    const { values } = this;
    const size = this.size + more.length;
    if (size > values.length) {
      this.values = new (values.constructor as new (size: number) => T)(Math.max(size, Math.floor(1.3 * values.length)));
      this.values.set(values.subarray(0, this.size));
    }
    this.values.set(more, this.size);
    this.size = size;
  }
}

/** Texts or lists that grow at their end. */
class GrowingParts<T extends Uint8Array | Uint32Array> {
  readonly starts = new Growing(Uint32Array.of(0));
  readonly values: Growing<T>;

  constructor(values: T) {
    this.values = new Growing(values);
  }

  append({ starts, values }: Parts<T>): void {
    const move = this.values.size - starts[0]!;
    this.values.append(values.subarray(starts[0], starts.at(-1)));
    this.starts.append(starts.subarray(1).map(start => start + move));
  }

  text(slot: number): string {
    const { values } = this.starts;
    return decode(this.values.values as Uint8Array, values[slot]!, values[slot + 1]!);
  }
}
