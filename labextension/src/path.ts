/**
 * A workspace path as the server knows it: relative to the server's root, `/` between the parts.
 *
 * `folder` is the notebook's folder under the server's root, `root` the workspace as seen from there.  Null where the path leaves the
 * server's root or is absolute: the server cannot open it.
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

/** The last part of a path, with its line. */
export function shortName(path: string, line: number | null): string {
  const name = path.slice(path.lastIndexOf('/') + 1) || path;
  return line === null ? name : `${name}:${line}`;
}
