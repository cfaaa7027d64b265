import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IRenderMimeRegistry } from '@jupyterlab/rendermime';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';
import { QuestionKeys } from './asking.js';
import { CallCanceller } from './cancel.js';
import { FileOpener } from './open.js';
import { Orphans } from './orphans.js';
import { addCallRenderer } from './renderer.js';
import { ICallCanceller, IFileOpener } from './tokens.js';

const opener: JupyterFrontEndPlugin<IFileOpener> = {
  id: 'nbtools-agent:opener',
  description: 'Opens the files that cards name, at their lines.',
  autoStart: true,
  provides: IFileOpener,
  activate: (app: JupyterFrontEnd) => new FileOpener(app.commands)
};

const canceller: JupyterFrontEndPlugin<ICallCanceller> = {
  id: 'nbtools-agent:canceller',
  description: 'Cancels running calls.',
  autoStart: true,
  requires: [INotebookTracker],
  provides: ICallCanceller,
  activate: (_, notebooks: INotebookTracker) => new CallCanceller(notebooks)
};

const renderer: JupyterFrontEndPlugin<void> = {
  id: 'nbtools-agent:renderer',
  description: 'Draws the cards of calls.',
  autoStart: true,
  requires: [IRenderMimeRegistry],
  optional: [IFileOpener, ICallCanceller],
  activate: (_, rendermime: IRenderMimeRegistry, files: IFileOpener | null, calls: ICallCanceller | null) =>
    addCallRenderer({ rendermime, opener: files, canceller: calls })
};

const questions: JupyterFrontEndPlugin<void> = {
  id: 'nbtools-agent:questions',
  description: 'Focus and keys for questions.',
  autoStart: true,
  requires: [INotebookTracker],
  activate: (_, notebooks: INotebookTracker) => new QuestionKeys(notebooks).listen()
};

const orphans: JupyterFrontEndPlugin<void> = {
  id: 'nbtools-agent:orphans',
  description: 'Lets go of questions whose kernel has ended.',
  autoStart: true,
  requires: [INotebookTracker],
  optional: [ITranslator],
  activate: (_, notebooks: INotebookTracker, translator: ITranslator | null) =>
    void new Orphans(notebooks, (translator ?? nullTranslator).load('nbtools_agent'))
};

export default [opener, canceller, renderer, questions, orphans];
