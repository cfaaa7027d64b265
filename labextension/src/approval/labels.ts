// Generated from nbtools/notebook/approval/labels.py by labextension/scripts/wire_types.py: run `make wire` after a change there.

import type { TranslationBundle } from '@jupyterlab/translation';

/** The labels of answers; `scope` is what is always allowed. */
export const answerLabels = (trans: TranslationBundle, scope = '') => ({
  once: trans.__('Approve once'),
  always: trans.__('Always allow %1', scope),
  tool: trans.__('Always allow this tool'),
  server: trans.__('Always allow this server'),
  modify: trans.__('Modify…'),
  deny: trans.__('Deny'),
  answers: trans.__('Answer'),
  skip: trans.__('Skip')
});
