/** Returns the value of a JSON that is compressed and in base64; null if it is invalid, or longer than `most` characters. */
export async function inflate(packed: string, most: number): Promise<unknown> {
  try {
    const stream = new Blob([bytesOf(packed) ?? '']).stream().pipeThrough(new DecompressionStream('deflate'));
    return JSON.parse(await readText(stream.pipeThrough(new TextDecoderStream()).getReader(), most));
  } catch {
    return null;
  }
}

/** Returns the bytes of a text in base64; null if it is invalid. */
export function bytesOf(packed: string): ArrayBuffer | null {
  try {
    return Uint8Array.from(atob(packed), character => character.charCodeAt(0)).buffer;
  } catch {
    return null;
  }
}

async function readText(reader: ReadableStreamDefaultReader<string>, most: number): Promise<string> {
  const parts: string[] = [];
  for (let size = 0, part = await reader.read(); !part.done; part = await reader.read()) {
    size += part.value.length;
    if (size > most) {
      await reader.cancel();
      throw new RangeError('too long');
    }
    parts.push(part.value);
  }
  return parts.join('');
}
