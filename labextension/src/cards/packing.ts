/** Characters of JSON up to which blocks are unpacked, because a notebook is written by anybody. */
const MAX_JSON = 32_000_000;

/** Returns the JSON of a card with its blocks, which a notebook's file has compressed in the field `packed`; other values as they are. */
export async function unpackCard(value: unknown): Promise<unknown> {
  const { packed, ...fields } = (value ?? {}) as { packed?: unknown };
  return typeof packed === 'string' ? { ...fields, blocks: await unpack(packed) } : value;
}

/** Returns the value of a compressed JSON in base64; null if it is invalid or too long. */
async function unpack(packed: string): Promise<unknown> {
  try {
    const bytes = Uint8Array.from(atob(packed), character => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
    return JSON.parse(await readText(stream.pipeThrough(new TextDecoderStream()).getReader()));
  } catch {
    return null;
  }
}

async function readText(reader: ReadableStreamDefaultReader<string>): Promise<string> {
  const parts: string[] = [];
  for (let size = 0, part = await reader.read(); !part.done; part = await reader.read()) {
    size += part.value.length;
    if (size > MAX_JSON) {
      await reader.cancel();
      throw new RangeError('too long');
    }
    parts.push(part.value);
  }
  return parts.join('');
}
