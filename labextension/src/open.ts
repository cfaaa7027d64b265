import type { CommandRegistry } from '@lumino/commands';
import type { IFileOpener } from './tokens.js';

const OPEN = 'docmanager:open';
const GO_TO_LINE = 'fileeditor:go-to-line';

/** Opens files by the application's own commands.  Notebook 7 opens a tab of the browser, where no line can be reached. */
export class FileOpener implements IFileOpener {
  constructor(private readonly commands: CommandRegistry) {}

  async open(path: string, line: number | null): Promise<void> {
    const inEditor = line !== null && !path.endsWith('.ipynb');
    const opened: unknown = await this.commands.execute(OPEN, inEditor ? { path, factory: 'Editor' } : { path });
    if (inEditor && isDocument(opened) && this.commands.hasCommand(GO_TO_LINE)) {
      await opened.content.ready;
      await this.commands.execute(GO_TO_LINE, { line, column: 1 });
    }
  }
}

function isDocument(value: unknown): value is { content: { ready?: Promise<void> } } {
  return typeof value === 'object' && value !== null && 'content' in value;
}
