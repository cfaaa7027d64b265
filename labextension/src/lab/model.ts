// Generated from nbtools/notebook/forms/form_messages.py by labextension/scripts/wire_types.py: run `make wire` after a change there.

import * as parse from '../shared/parse.js';

export const FORMS_TARGET = 'nbtools.forms';

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

/** ``tools`` asks for the list of tools, ``form`` for the schema of one, ``check`` what a call with these values would be.

``rules`` asks for the cell that would allow calls such as the one with the id ``tool``. */
export interface FormRequest {
  readonly id: number;
  readonly verb: 'tools' | 'form' | 'check' | 'rules';
  readonly tool: string;
  readonly values: string;
}

/** The answer to one request; fields that it does not concern are empty.

``form`` is a JSON Schema of plain keywords (see ``form_schema``). ``action`` and ``reason`` are the policy's decision; ``source`` is the cell. ``problem`` says what is missing or invalid; then there is no cell. */
export interface FormAnswer {
  readonly id: number;
  readonly tools: readonly FormTool[];
  readonly form: string;
  readonly action: '' | 'allow' | 'ask' | 'deny';
  readonly reason: string;
  readonly source: string;
  readonly problem: string;
}
export const parseFormAnswer: parse.Parser<FormAnswer> = parse.record<FormAnswer>({
  id: parse.number,
  tools: parse.otherwise(parse.list(parseFormTool), []),
  form: parse.otherwise(parse.text, ''),
  action: parse.otherwise(parse.oneOf('', 'allow', 'ask', 'deny'), ''),
  reason: parse.otherwise(parse.text, ''),
  source: parse.otherwise(parse.text, ''),
  problem: parse.otherwise(parse.text, ''),
});
