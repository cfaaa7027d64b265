import type { ColumnBlock } from './columns_model.js';

export type Numbers = Uint8Array | Uint16Array | Uint32Array | Float64Array;

/** Texts or lists: those of row `i` are the values from `starts[i]` to `starts[i + 1]` (exclusive). */
export interface Parts<T extends Numbers> {
  readonly starts: Uint32Array;
  readonly values: T;
}

const ARRAYS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array };
const decoder = new TextDecoder();

/** The rows of a block.  A column that the block lacks has the values 0, '' or []. */
export class Columns {
  constructor(
    readonly count: number,
    private readonly numbers: Map<string, Numbers>,
    private readonly parts: Map<string, Parts<Numbers>>,
    private readonly dictionaries: ReadonlyMap<string, readonly string[]>
  ) {}

  number(name: string): Numbers {
    const known = this.numbers.get(name) ?? new Uint32Array(this.count);
    this.numbers.set(name, known);
    return known;
  }

  text(name: string, row: number): string {
    const { starts, values } = this.encoded(name);
    return decode(values, starts[row]!, starts[row + 1]!);
  }

  word(name: string, row: number): string {
    return this.words(name)[this.number(name)[row]!] ?? '';
  }

  /** The dictionary of a column of words; `number` has the index of each row's word. */
  words(name: string): readonly string[] {
    return this.dictionaries.get(name) ?? [];
  }

  list(name: string, row: number): Uint32Array {
    const { starts, values } = this.lists(name);
    return values.subarray(starts[row], starts[row + 1]);
  }

  /** A column of lists as a whole. */
  lists(name: string): Parts<Uint32Array> {
    return this.part(name, Uint32Array);
  }

  /** A column of texts as a whole, in UTF-8. */
  encoded(name: string): Parts<Uint8Array> {
    return this.part(name, Uint8Array);
  }

  private part<T extends Numbers>(name: string, type: new (size: number) => T): Parts<T> {
    const part = this.parts.get(name);
    const known = part?.values instanceof type ? (part as Parts<T>) : { starts: new Uint32Array(this.count + 1), values: new type(0) };
    this.parts.set(name, known);
    return known;
  }
}

/** Returns a text that is kept in UTF-8. */
export function decode(bytes: Uint8Array, start: number, end: number): string {
  return start === end ? '' : decoder.decode(bytes.subarray(start, end));
}

/** Returns the columns of a block; null if the buffer does not contain them, as that of a damaged or hostile file. */
export function readColumns({ count, columns }: ColumnBlock, data: ArrayBuffer | ArrayBufferView): Columns | null {
  const buffer = aligned(data);
  if (!Number.isInteger(count) || count < 0 || count > buffer.byteLength) {
    return null;
  }
  const numbers = new Map<string, Numbers>();
  const parts = new Map<string, Parts<Numbers>>();
  const dictionaries = new Map<string, readonly string[]>();
  for (const { name, kind, at, words } of columns) {
    const isSplit = kind === 'text' || kind === 'list';
    const values = view(buffer, kind === 'word' || isSplit ? Uint32Array : ARRAYS[kind], at, count + Number(isSplit));
    if (!values || (kind === 'word' && !values.every(id => id < words.length))) {
      return null;
    }
    if (isSplit) {
      const starts = values as Uint32Array;
      const size = starts[count]!;
      const rest = view(buffer, kind === 'text' ? Uint8Array : Uint32Array, at + starts.byteLength, size);
      if (!rest || starts.some((start, i) => i > 0 && start < starts[i - 1]!)) {
        return null;
      }
      parts.set(name, { starts, values: rest });
    } else {
      numbers.set(name, values);
      kind === 'word' && dictionaries.set(name, words);
    }
  }
  return new Columns(count, numbers, parts, dictionaries);
}

type NumbersType = typeof Uint8Array | typeof Uint16Array | typeof Uint32Array | typeof Float64Array;

function view(buffer: ArrayBuffer, type: NumbersType, at: number, size: number): Numbers | null {
  const width = type.BYTES_PER_ELEMENT;
  const fits = Number.isInteger(at) && at >= 0 && at % width === 0 && at + size * width <= buffer.byteLength;
  return fits ? new type(buffer, at, size) : null;
}

/** Returns the data in a buffer of its own, in which columns begin at multiples of their size. */
function aligned(data: ArrayBuffer | ArrayBufferView): ArrayBuffer {
  if (!ArrayBuffer.isView(data)) {
    return data;
  }
  const { buffer, byteOffset, byteLength } = data;
  return byteOffset === 0 && byteLength === buffer.byteLength
    ? (buffer as ArrayBuffer)
    : (buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer);
}
