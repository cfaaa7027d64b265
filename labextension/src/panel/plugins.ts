import type { JupyterFrontEndPlugin } from '@jupyterlab/application';
import { INotebookTracker } from '@jupyterlab/notebook';
import { IKernelStates } from '../shared/tokens.js';
import { KernelStates } from './kernel_states.js';

const states: JupyterFrontEndPlugin<IKernelStates> = {
  id: 'nbtools-agent:kernel-states',
  description: 'Follows the state of nbtools in the kernels of open notebooks.',
  autoStart: true,
  requires: [INotebookTracker],
  provides: IKernelStates,
  activate: (_, notebooks: INotebookTracker) => new KernelStates(notebooks)
};

export default [states];
