import { type Kernel, kernelChannel } from '../live_cells/kernel_channel.js';
import { Client, RequestError } from '../shared/channel.js';
import { FORM_METHODS } from './model.js';

export type Forms = Client<keyof typeof FORM_METHODS>;

/** Calls a kernel's methods for forms. */
export function formsOf(kernel: Kernel): Forms {
  return new Client(() => kernelChannel(kernel), FORM_METHODS);
}

/** Returns why a request has no result, as the kernel says it; empty if the kernel says nothing. */
export function problemOf(error: unknown): string {
  return error instanceof RequestError ? error.message : '';
}

/** Loads the dialog *New call*.  Rejects if the server does not have it, for example because nbtools was updated while the page was open. */
export async function loadForm(): Promise<typeof import('./new_call.js')> {
  return import(/* webpackChunkName: "form" */ './new_call.js');
}
