/**
 * Converts a path in the workspace to a path relative to the Jupyter server's root folder, with `/` as separator.
 *
 * `folder` is the notebook's folder, relative to the server's root; `root` is the workspace folder, relative to `folder`.  Returns null if
 * the path is absolute or outside the server's root, because the server cannot open it.
 */
export function locate(folder: string, root: string, path: string): string | null {
  if (root.startsWith('/') || path.startsWith('/')) {
    return null;
  }
  const parts: string[] = [];
  for (const part of [folder, root, path].join('/').split('/')) {
    if (part === '..') {
      if (parts.pop() === undefined) {
        return null;
      }
    } else if (part !== '' && part !== '.') {
      parts.push(part);
    }
  }
  return parts.join('/');
}

/** Returns the file name of a path. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** Returns the file name of a path, followed by `:line` if there is a line. */
export function shortName(path: string, line: number | null): string {
  const name = nameOf(path) || path;
  return line === null ? name : `${name}:${line}`;
}
