import type { CommandRegistry } from '@lumino/commands';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { scrollToCell } from './notebook_scroll.js';
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
      await document.revealed;
      await scrollToCell(document.content, cell);
    }
  }
}

function isNotebook(value: unknown): value is NotebookPanel {
  return isDocument(value) && 'scrollToItem' in value.content;
}

function isDocument(value: unknown): value is { content: { ready?: Promise<void> } & object } {
  return typeof value === 'object' && value !== null && 'content' in value;
}
