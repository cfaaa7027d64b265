import { Notification } from '@jupyterlab/apputils';
import { PathExt } from '@jupyterlab/coreutils';
import type { IDocumentManager } from '@jupyterlab/docmanager';
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { TranslationBundle } from '@jupyterlab/translation';
import { locate } from '../shared/path.js';
import type { FollowedKernel, IKernelStates, ISettings } from '../shared/tokens.js';

/** Seconds by which a change may be older than this page and still be new: the clocks are compared with that precision. */
const TOLERANCE = 1;

/**
 * Reloads open documents after a tool changed their files on disk.
 *
 * A document with unsaved changes is left as it is, with a notification.  Only files below the server's root can be open, so that paths
 * elsewhere are ignored.
 */
export class ChangeFollower {
  private readonly seen = new Set<string>();
  private readonly started = Date.now() / 1000;

  constructor(
    private readonly documents: IDocumentManager,
    states: IKernelStates,
    private readonly settings: ISettings,
    private readonly trans: TranslationBundle
  ) {
    states.changed.connect(() => states.current.forEach(kernel => this.follow(kernel)));
  }

  private follow({ kernel, panels, state, clockOffset }: FollowedKernel): void {
    const folder = PathExt.dirname(panels[0]?.context.localPath ?? '');
    for (const { id, at, undone_by, files, tool } of state?.changes ?? []) {
      const key = `${kernel} ${id} ${undone_by}`;
      const isNew = at - clockOffset > this.started - TOLERANCE || this.seen.has(`${kernel} ${id}`);
      if (!this.seen.has(key) && isNew && this.settings.values.followChanges) {
        files.forEach(({ path }) => void this.reload(locate(folder, state!.root, path), tool));
      }
      this.seen.add(key).add(`${kernel} ${id}`);
    }
  }

  private async reload(path: string | null, tool: string): Promise<void> {
    const widget = path === null ? undefined : this.documents.findWidget(path, null);
    const context = widget && this.documents.contextForWidget(widget);
    if (!widget || !context || path === null) {
      return;
    }
    if (!context.model.dirty) {
      await revert(context, widget);
    } else if (context.contentsModel?.type !== 'notebook') {
      // Cells of an open notebook are changed in the page, which makes it dirty.
      this.notify(path, tool, context, widget);
    }
  }

  private notify(path: string, tool: string, context: DocumentRegistry.Context, widget: object): void {
    const { trans } = this;
    Notification.warning(trans.__('%1 was changed on disk by %2. The open editor has unsaved changes.', path, tool), {
      autoClose: false,
      actions: [
        {
          label: trans.__('Reload'),
          caption: trans.__('Discard the unsaved changes and show the file as it is on disk'),
          displayType: 'warn',
          callback: () => void revert(context, widget)
        }
      ]
    });
  }
}

interface Editor {
  getCursorPosition(): { line: number; column: number };
  setCursorPosition(position: { line: number; column: number }, options?: { scroll: boolean }): void;
  readonly host: HTMLElement;
  readonly lineCount: number;
}

/** Reads a document again; its editor keeps the cursor and the scroll position, a notebook its active cell. */
async function revert(context: DocumentRegistry.Context, widget: object): Promise<void> {
  const content = (widget as { content?: { editor?: Editor; activeCellIndex?: number } }).content;
  const editor = content?.editor;
  const cursor = editor?.getCursorPosition();
  const cell = content?.activeCellIndex;
  const scroller = editor?.host.querySelector('.cm-scroller');
  const top = scroller?.scrollTop ?? 0;
  await context.revert();
  if (editor && cursor) {
    editor.setCursorPosition({ ...cursor, line: Math.min(cursor.line, editor.lineCount - 1) }, { scroll: false });
    scroller && (scroller.scrollTop = top);
  } else if (content && cell !== undefined) {
    content.activeCellIndex = cell;
  }
}
