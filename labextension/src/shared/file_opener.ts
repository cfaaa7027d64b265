import type { CommandRegistry } from '@lumino/commands';
import type { IFileOpener } from './tokens.js';

const OPEN = 'docmanager:open';
const GO_TO_LINE = 'fileeditor:go-to-line';

/** Opens files with JupyterLab's commands.  Notebook 7 opens a new browser tab, in which the line cannot be selected. */
export class FileOpener implements IFileOpener {
  constructor(private readonly commands: CommandRegistry) {}

  async open(path: string, line: number | null, cell = ''): Promise<void> {
    const inEditor = line !== null && !path.endsWith('.ipynb');
    const document: unknown = await this.commands.execute(OPEN, inEditor ? { path, factory: 'Editor' } : { path });
    if (inEditor && isDocument(document) && this.commands.hasCommand(GO_TO_LINE)) {
      await document.content.ready;
      await this.commands.execute(GO_TO_LINE, { line, column: 1 });
    }
    if (cell && isNotebook(document)) {
      document.setFragment(`#cell-id=${cell}`);
    }
  }
}

/** Whether a document can go to a cell.  Only called for notebooks: the fragment means something else elsewhere. */
function isNotebook(value: unknown): value is { setFragment(fragment: string): void } {
  return typeof value === 'object' && value !== null && 'setFragment' in value && typeof value.setFragment === 'function';
}

function isDocument(value: unknown): value is { content: { ready?: Promise<void> } } {
  return typeof value === 'object' && value !== null && 'content' in value;
}
