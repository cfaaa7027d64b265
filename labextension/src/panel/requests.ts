import { Dialog, Notification, showDialog } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import { element } from '../shared/element.js';
import type { IKernelStates } from '../shared/tokens.js';
import type { Consequence, StateReply, StateRequest } from './model.js';

/** Milliseconds for which a problem stays. */
const PROBLEM_SHOWN = 10_000;

/**
 * Sends a request to a kernel.  Asks the person first where the kernel wants a consequence confirmed; shows a problem as a notification.
 *
 * Returns the reply if the request was carried out, else null.
 */
export async function request(
  states: IKernelStates,
  kernel: string,
  task: StateRequest['task'],
  trans: TranslationBundle
): Promise<StateReply | null> {
  try {
    let reply = await states.send(kernel, task);
    while (reply.confirm) {
      if (!(await confirmed(reply.confirm, trans))) {
        return null;
      }
      reply = await states.send(kernel, { type: 'confirm', token: reply.confirm.token });
    }
    return reply.problem ? fail(reply.problem) : reply;
  } catch {
    return fail(trans.__('The kernel did not answer: it has ended, restarted, or nbtools is not loaded in it.'));
  }
}

function fail(problem: string): null {
  Notification.warning(problem, { autoClose: PROBLEM_SHOWN });
  return null;
}

/** Shows what a request would do, in the kernel's words.  *Cancel* has the focus. */
async function confirmed({ title, lines, accept }: Consequence, trans: TranslationBundle): Promise<boolean> {
  const list = element('ul', 'nbtools-consequence', ...lines.map(line => element('li', '', line)));
  const { button } = await showDialog({
    title,
    body: new Widget({ node: element('div', '', list) }),
    buttons: [Dialog.cancelButton({ label: trans.__('Cancel') }), Dialog.warnButton({ label: accept })],
    defaultButton: 0
  });
  return button.accept;
}
