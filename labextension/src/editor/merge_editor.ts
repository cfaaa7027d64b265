import { getChunks, goToNextChunk, goToPreviousChunk, rejectChunk, unifiedMergeView } from '@codemirror/merge';
import { EditorState, Prec, type Extension } from '@codemirror/state';
import { type Command, EditorView, keymap } from '@codemirror/view';
import { CodeEditor, type IEditorServices } from '@jupyterlab/codeeditor';
import type { CodeMirrorEditor } from '@jupyterlab/codemirror';
import type { TranslationBundle } from '@jupyterlab/translation';
import { DisposableSet } from '@lumino/disposable';
import { END_EVENT, type EditRequest } from '../shared/edit_request.js';
import { element } from '../shared/element.js';
import { hiddenCharacters } from './hidden_characters.js';

/** Lines that stay in view around a change; longer unchanged parts are folded. */
const MARGIN = 5;
const MIN_FOLDED = 12;
/** Changed characters up to which the comparison is exact. */
const SCAN_LIMIT = 2000;

/** Opens JupyterLab's editor for the proposal, with the changes to the file marked; each can be kept or left out. */
export function openEditor(request: EditRequest, services: IEditorServices, trans: TranslationBundle): void {
  const { host, original, proposed, path } = request;
  if (!host.isConnected) {
    return; // the person has gone back meanwhile
  }
  const lineEnd = /\r\n/.test(proposed) && !/(^|[^\r])\n/.test(proposed) ? '\r\n' : '\n';
  const model = new CodeEditor.Model({ mimeType: services.mimeTypeService.getMimeTypeByFilePath(path) });
  model.sharedModel.setSource(proposed.replace(/\r\n/g, '\n'));
  const box = element('div', 'nbtools-merge');
  box.dataset['lmSuppressShortcuts'] = ''; // JupyterLab's shortcuts must not see what is typed here
  host.replaceChildren(box, hint(trans));
  const editor = services.factoryService.newDocumentEditor({
    host: box,
    model,
    config: { lineNumbers: true, lineWrap: false, searchWithCM: true, scrollPastEnd: false },
    extensions: [
      actions(request, { next: goToNextChunk, previous: goToPreviousChunk, leaveOut: view => rejectChunk(view) }),
      hiddenCharacters(),
      EditorView.contentAttributes.of({ 'aria-label': request.label }),
      EditorView.updateListener.of(({ docChanged, state }) => {
        docChanged && request.onChange(state.doc.toString().replace(/\n/g, lineEnd));
      }),
      ...(original ? [unifiedMergeView(changes(original.replace(/\r\n/g, '\n'), trans))] : [])
    ]
  });
  const disposables = new DisposableSet();
  disposables.add(editor);
  disposables.add(model);
  const { editor: view } = editor as CodeMirrorEditor;
  const stop = (event: Event): void => event.stopPropagation();
  box.addEventListener('keydown', stop);
  host.addEventListener(END_EVENT, () => disposables.dispose(), { once: true });
  const start = getChunks(view.state)?.chunks[0]?.fromB ?? 0;
  view.dispatch({
    selection: { anchor: Math.min(start, view.state.doc.length) },
    effects: EditorView.scrollIntoView(start, { y: 'center' })
  });
  view.focus();
  host.scrollIntoView({ block: 'nearest' });
}

function actions(
  { onSubmit, onCancel }: EditRequest,
  { next, previous, leaveOut }: Record<'next' | 'previous' | 'leaveOut', Command>
): Extension {
  const done = (action: () => void) => () => (action(), true);
  return [
    Prec.highest(
      keymap.of([
        { key: 'Mod-Enter', run: done(onSubmit) },
        { key: 'F7', run: next, shift: previous },
        { key: 'F8', run: leaveOut }
      ])
    ),
    // After the other actions of Esc, such as closing the search panel.
    Prec.lowest(keymap.of([{ key: 'Escape', run: done(onCancel) }]))
  ];
}

function changes(original: string, trans: TranslationBundle): Parameters<typeof unifiedMergeView>[0] {
  return {
    original: EditorState.create({ doc: original }).doc,
    collapseUnchanged: { margin: MARGIN, minSize: MIN_FOLDED },
    diffConfig: { scanLimit: SCAN_LIMIT },
    mergeControls: (type, action) => {
      const [label, title] =
        type === 'accept' ? [trans.__('Keep'), trans.__('Keep this change')] : [trans.__('Leave out'), trans.__('Leave this change out')];
      const button = element('button', `nbtools-hunk-button nbtools-hunk-${type}`, label);
      button.type = 'button';
      button.title = title;
      button.addEventListener('mousedown', event => event.preventDefault()); // the editor keeps the focus
      button.addEventListener('click', action);
      return button;
    }
  };
}

function hint(trans: TranslationBundle): HTMLElement {
  const keys: readonly (readonly [string, string])[] = [
    ['F7', trans.__('next change')],
    ['F8', trans.__('leave it out')],
    [trans.__('Ctrl/⌘ F'), trans.__('search')],
    [trans.__('Ctrl/⌘ Enter'), trans.__('update the proposal')],
    ['Esc', trans.__('back')]
  ];
  return element('div', 'nbtools-merge-keys', ...keys.map(([key, what]) => element('span', '', element('kbd', '', key), what)));
}
