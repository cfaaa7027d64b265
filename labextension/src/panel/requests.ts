import { Dialog, Notification, showDialog } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import { element } from '../shared/element.js';
import { type Params, RequestError } from '../shared/channel.js';
import type { IKernelStates, PanelMethod } from '../shared/tokens.js';
import type { Consequence, StateOutcome } from './model.js';

/** Milliseconds for which a problem stays. */
const PROBLEM_SHOWN = 10_000;

/**
 * Sends a request to a kernel.  Asks the person first where the kernel wants a consequence confirmed; shows a problem as a notification.
 *
 * Returns the outcome if the request was carried out, else null.
 */
export async function request<M extends PanelMethod>(
  states: IKernelStates,
  kernel: string,
  trans: TranslationBundle,
  method: M,
  params: Params<M>
): Promise<StateOutcome | null> {
  const send = states.request(kernel);
  try {
    let outcome = await send(method, params);
    while (outcome.confirm) {
      if (!(await confirmed(outcome.confirm, trans))) {
        return null;
      }
      outcome = await send('panel.confirm', { token: outcome.confirm.token });
    }
    return outcome;
  } catch (error) {
    const problem = error instanceof RequestError ? error.message : '';
    return fail(problem || trans.__('The kernel did not answer: it has ended, restarted, or nbtools is not loaded in it.'));
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
