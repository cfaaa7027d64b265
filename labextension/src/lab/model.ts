// Generated from nbtools/notebook/forms by labextension/scripts/wire_types.py: run `make wire` after a change there.

import * as parse from '../shared/parse.js';

/** Asks what a call with a form's values, as JSON, would be. */
export interface CheckParams {
  readonly tool: string;
  readonly values: string;
}

/** The policy's decision on a call and its reason, and the cell that makes the call. */
export interface CheckedCall {
  readonly action: 'allow' | 'ask' | 'deny';
  readonly reason: string;
  readonly source: string;
}
export const parseCheckedCall: parse.Parser<CheckedCall> = parse.record<CheckedCall>({
  action: parse.oneOf('allow', 'ask', 'deny'),
  reason: parse.text,
  source: parse.text,
});

/** Asks for the form of a tool. */
export interface FormParams {
  readonly tool: string;
}

/** A tool in the list. ``policy`` is what the policy does with its calls in general. */
export interface FormTool {
  readonly name: string;
  readonly icon: string;
  readonly kind: string;
  readonly about: string;
  readonly policy: string;
}
export const parseFormTool: parse.Parser<FormTool> = parse.record<FormTool>({
  name: parse.text,
  icon: parse.text,
  kind: parse.text,
  about: parse.text,
  policy: parse.text,
});

/** The cell that adds rules, and what they cover. */
export interface RulesCell {
  readonly source: string;
  readonly reason: string;
}
export const parseRulesCell: parse.Parser<RulesCell> = parse.record<RulesCell>({
  source: parse.text,
  reason: parse.text,
});

/** Asks for the cell that would allow calls such as the one with an id. */
export interface RulesParams {
  readonly call: string;
}

/** The form of a tool: a JSON Schema of plain keywords (see ``form_schema``). */
export interface ToolForm {
  readonly form: string;
}
export const parseToolForm: parse.Parser<ToolForm> = parse.record<ToolForm>({
  form: parse.text,
});

/** The tools of the session. */
export interface FormTools {
  readonly tools: readonly FormTool[];
}
export const parseFormTools: parse.Parser<FormTools> = parse.record<FormTools>({
  tools: parse.list(parseFormTool),
});

export const FORM_METHODS = {
  'forms.check': parseCheckedCall,
  'forms.form': parseToolForm,
  'forms.rules': parseRulesCell,
  'forms.tools': parseFormTools,
};
