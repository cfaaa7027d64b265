import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { IEditorServices } from '@jupyterlab/codeeditor';
import { ITranslator } from '@jupyterlab/translation';
import { EDIT_EVENT, type EditRequest } from '../shared/edit_request.js';
import { catalogue } from '../shared/catalogue.js';

const editor: JupyterFrontEndPlugin<void> = {
  id: 'nbtools-agent:editor',
  description: 'Opens a code editor with the changes marked, where a question asks for an editor.',
  autoStart: true,
  requires: [IEditorServices],
  optional: [ITranslator],
  activate: (_: JupyterFrontEnd, services: IEditorServices, translator: ITranslator | null) => {
    const trans = catalogue(translator);
    document.addEventListener(EDIT_EVENT, event => {
      const request = (event as CustomEvent<EditRequest>).detail;
      if (request?.path && request.host instanceof HTMLElement) {
        event.preventDefault();
        void import(/* webpackChunkName: "editor" */ './merge_editor.js').then(({ openEditor }) => openEditor(request, services, trans));
      }
    });
  }
};

export default [editor];
