import type { ColumnBlock, ColumnPart } from '../shared/columns_model.js';

type Values = readonly number[] | readonly string[] | readonly (readonly number[])[];

/** Encodes columns as the kernel does, for tests. */
export function encode(
  count: number,
  columns: Readonly<Record<string, readonly [ColumnPart['kind'], Values]>>
): [ColumnBlock, ArrayBuffer] {
  const parts: ColumnPart[] = [];
  const chunks: Uint8Array[] = [];
  let size = 0;
  const add = (array: Uint8Array | Uint16Array | Uint32Array | Float64Array) => {
    chunks.push(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    size += array.byteLength;
  };
  const pad = () => size % 8 && add(new Uint8Array(8 - (size % 8)));
  for (const [name, [kind, values]] of Object.entries(columns)) {
    pad();
    const words = kind === 'word' ? [...new Set(values as string[])] : [];
    parts.push({ name, kind, at: size, words });
    if (kind === 'text' || kind === 'list') {
      const encoded = kind === 'text' ? (values as string[]).map(text => new TextEncoder().encode(text)) : (values as number[][]);
      let end = 0;
      add(Uint32Array.from([0, ...encoded.map(({ length }) => (end += length))]));
      const all = encoded.flatMap(value => [...value]);
      add(kind === 'text' ? Uint8Array.from(all) : Uint32Array.from(all));
    } else if (kind === 'word') {
      add(Uint32Array.from(values as string[], word => words.indexOf(word)));
    } else {
      const type = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, f64: Float64Array }[kind];
      add(type.from(values as number[]));
    }
  }
  pad();
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return [{ count, columns: parts }, bytes.buffer];
}
