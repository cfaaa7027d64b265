// Generated from the methods of nbtools by labextension/scripts/wire_types.py: run `make wire` after a change there.

import type { CheckParams, CheckedCall, FormParams, FormTools, RulesCell, RulesParams, ToolForm } from '../lab/model.js';

/** Name of the comm target. */
export const CHANNEL_TARGET = 'nbtools';

/** Binary data that follows a result. */
export interface Buffers {
  readonly buffers: readonly ArrayBuffer[];
}

/** The methods that a page calls: their parameters and results. */
export interface Methods {
  'forms.check': { readonly params: CheckParams; readonly result: CheckedCall };
  'forms.form': { readonly params: FormParams; readonly result: ToolForm };
  'forms.rules': { readonly params: RulesParams; readonly result: RulesCell };
  'forms.tools': { readonly params: Readonly<Record<string, never>>; readonly result: FormTools };
}
