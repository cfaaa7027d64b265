// Generated from nbtools/notebook/approval/question_messages.py by labextension/scripts/wire_types.py: run `make wire` after a change there.

import * as parse from '../shared/parse.js';
import { parseCard, parseDiffBlock, type Card, type DiffBlock } from '../cards/model.js';

/** The part of a file's change that is applied: none of it, or its chosen hunks. ``hunks`` is empty where it has no choice of them. */
export interface TakenFile {
  readonly taken: boolean;
  readonly hunks: readonly boolean[];
}

/** One button of a question. ``rules`` are what an "always allow" adds, ``covers`` says what they cover, ``tip`` is all of it.

``scope`` is what the label names: ``edit``, ``in src/``; empty for a whole MCP tool or server, and for the other buttons. */
export interface ButtonChoice {
  readonly role: 'once' | 'always' | 'folder' | 'server' | 'modify' | 'deny' | 'answers';
  readonly label: string;
  readonly scope: string;
  readonly tip: string;
  readonly covers: string;
  readonly rules: readonly string[];
}
export const parseButtonChoice: parse.Parser<ButtonChoice> = parse.record<ButtonChoice>({
  role: parse.oneOf('once', 'always', 'folder', 'server', 'modify', 'deny', 'answers'),
  label: parse.text,
  scope: parse.otherwise(parse.text, ''),
  tip: parse.otherwise(parse.text, ''),
  covers: parse.otherwise(parse.text, ''),
  rules: parse.otherwise(parse.list(parse.text), []),
});

/** The text that *Modify* edits: of ``path``, now ``original``, ``proposed`` by the call. A command has one line and no original. */
export interface EditableText {
  readonly label: string;
  readonly path: string;
  readonly original: string;
  readonly proposed: string;
}
export const parseEditableText: parse.Parser<EditableText> = parse.record<EditableText>({
  label: parse.text,
  path: parse.text,
  original: parse.text,
  proposed: parse.text,
});

/** One choice of a form's question; ``value`` is the answer that it stands for. */
export interface FieldOption {
  readonly value: string;
  readonly label: string;
  readonly description: string;
}
export const parseFieldOption: parse.Parser<FieldOption> = parse.record<FieldOption>({
  value: parse.text,
  label: parse.text,
  description: parse.otherwise(parse.text, ''),
});

/** The parts of a file's change to choose from: its ``hunks``, if there are several, and with ``can_modify`` another text. */
export interface SelectableFile {
  readonly hunks: number;
  readonly can_modify: boolean;
}
export const parseSelectableFile: parse.Parser<SelectableFile> = parse.record<SelectableFile>({
  hunks: parse.otherwise(parse.number, 0),
  can_modify: parse.otherwise(parse.flag, false),
});

/** A page's answer to a question. Unknown fields, wrong types and texts that are too long are errors.

``files`` is what is taken of each file, with ``once`` and ``modify``; ``file`` is the number of the one that gets ``text``. */
export interface AnswerMessage {
  readonly question: string;
  readonly outcome: 'once' | 'always' | 'folder' | 'server' | 'modify' | 'deny' | 'answers';
  readonly reason: string;
  readonly text: string | null;
  readonly files: readonly TakenFile[] | null;
  readonly file: number | null;
  readonly answers: readonly string[] | null;
  readonly remember: boolean;
}

/** The kernel's message to a question's widget: the editable text, or why an answer was not accepted. */
export interface WidgetReply {
  readonly question: string;
  readonly editable: EditableText | null;
  readonly problem: string;
}
export const parseWidgetReply: parse.Parser<WidgetReply> = parse.record<WidgetReply>({
  question: parse.text,
  editable: parse.otherwise(parse.nullable(parseEditableText), null),
  problem: parse.otherwise(parse.text, ''),
});

/** One question of a form. Without options it takes a text; ``other`` says that a choice can also be answered with free text. */
export interface FormField {
  readonly header: string;
  readonly text: string;
  readonly options: readonly FieldOption[];
  readonly several: boolean;
  readonly other: boolean;
  readonly placeholder: string;
  readonly default: string;
  readonly optional: boolean;
}
export const parseFormField: parse.Parser<FormField> = parse.record<FormField>({
  header: parse.text,
  text: parse.text,
  options: parse.otherwise(parse.list(parseFieldOption), []),
  several: parse.otherwise(parse.flag, false),
  other: parse.otherwise(parse.flag, false),
  placeholder: parse.otherwise(parse.text, ''),
  default: parse.otherwise(parse.text, ''),
  optional: parse.otherwise(parse.flag, false),
});

/** An open question as a front end draws it: its card, and the buttons or the form below it. */
export interface QuestionData {
  readonly id: string;
  readonly card: Card;
  readonly choices: readonly ButtonChoice[];
  readonly fields: readonly FormField[];
  readonly files: readonly SelectableFile[];
  readonly changes: DiffBlock | null;
  readonly can_save: boolean;
}
export const parseQuestionData: parse.Parser<QuestionData> = parse.record<QuestionData>({
  id: parse.text,
  card: parseCard,
  choices: parse.list(parseButtonChoice),
  fields: parse.otherwise(parse.list(parseFormField), []),
  files: parse.otherwise(parse.list(parseSelectableFile), []),
  changes: parse.otherwise(parse.nullable(parseDiffBlock), null),
  can_save: parse.otherwise(parse.flag, true),
});
