// Generated from nbtools/traces/comparison/comparison_messages.py by labextension/scripts/wire_types.py: run `make wire` after a change there.

import * as parse from '../shared/parse.js';

export const COMPARISON_MIME = 'application/vnd.nbtools.comparison.v1+json';

/** Asks for the comparison with another baseline. */
export interface BaselineTask {
  readonly type: 'baseline';
  readonly baseline: number;
}

/** Asks to compare this log with listed sessions, by their ids. */
export interface CompareWithTask {
  readonly type: 'compare_with';
  readonly ids: readonly string[];
}

/** The call of a run whose call differs from the one that the row names. */
export interface ComparedCall {
  readonly run: number;
  readonly text: string;
  readonly ending: string;
}
export const parseComparedCall: parse.Parser<ComparedCall> = parse.record<ComparedCall>({
  run: parse.number,
  text: parse.text,
  ending: parse.otherwise(parse.text, ''),
});

/** The finding of a check in a run. ``step`` is the number of the step that says so, empty for none. */
export interface ComparedCell {
  readonly state: 'passed' | 'failed' | 'unknown' | '';
  readonly text: string;
  readonly step: string;
}
export const parseComparedCell: parse.Parser<ComparedCell> = parse.record<ComparedCell>({
  state: parse.oneOf('passed', 'failed', 'unknown', ''),
  text: parse.text,
  step: parse.otherwise(parse.text, ''),
});

/** A column of outcomes. ``source`` is the check as it is written, ``states`` what it states, ``rate`` how many runs passed. */
export interface ComparedCheck {
  readonly source: string;
  readonly states: string;
  readonly rate: string;
}
export const parseComparedCheck: parse.Parser<ComparedCheck> = parse.record<ComparedCheck>({
  source: parse.text,
  states: parse.text,
  rate: parse.text,
});

/** A form of checks, and what it states. */
export interface ComparedForm {
  readonly form: string;
  readonly states: string;
}
export const parseComparedForm: parse.Parser<ComparedForm> = parse.record<ComparedForm>({
  form: parse.text,
  states: parse.text,
});

/** Runs with the same first prompt, by their indexes, and the rates of the checks among them. */
export interface ComparedGroup {
  readonly title: string;
  readonly runs: readonly number[];
  readonly rates: readonly string[];
}
export const parseComparedGroup: parse.Parser<ComparedGroup> = parse.record<ComparedGroup>({
  title: parse.text,
  runs: parse.list(parse.number),
  rates: parse.list(parse.text),
});

/** A run. ``name`` is its letter, ``about`` its agent, model and log; ``totals`` are the cells under the view's ``totals``.

``parts`` says where it parts from the baseline, empty for the baseline and for the same steps; ``step`` is its step number there. */
export interface ComparedRun {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly totals: readonly string[];
  readonly parts: string;
  readonly step: string;
}
export const parseComparedRun: parse.Parser<ComparedRun> = parse.record<ComparedRun>({
  name: parse.text,
  title: parse.text,
  about: parse.text,
  totals: parse.list(parse.text),
  parts: parse.otherwise(parse.text, ''),
  step: parse.otherwise(parse.text, ''),
});

/** Asks for ``count`` rows from ``first`` on; ``unfolded`` are the indexes of folds that are open. */
export interface ComparedTask {
  readonly type: 'compared';
  readonly baseline: number;
  readonly first: number;
  readonly count: number;
  readonly unfolded: readonly number[];
}

/** A column of totals; ``title`` says what is counted. */
export interface ComparedTotal {
  readonly label: string;
  readonly title: string;
}
export const parseComparedTotal: parse.Parser<ComparedTotal> = parse.record<ComparedTotal>({
  label: parse.text,
  title: parse.text,
});

/** Asks for the explorer of a run, at one of its steps. */
export interface OpenRunTask {
  readonly type: 'open_run';
  readonly run: number;
  readonly step: string;
}

/** Asks what these checks find. */
export interface OutcomesTask {
  readonly type: 'outcomes';
  readonly baseline: number;
  readonly checks: readonly string[];
}

/** A step, or ``count`` steps from ``index`` on that all runs have in common and that are folded.

``numbers`` are the step numbers of the runs, empty where a run has no such step, and ``marks`` how each ended. ``others`` are calls that are only similar to the one named; ``parts`` are the names of the runs that part here. */
export interface ComparedRow {
  readonly index: number;
  readonly count: number;
  readonly icon: string;
  readonly name: string;
  readonly subject: string;
  readonly ending: string;
  readonly note: string;
  readonly numbers: readonly string[];
  readonly marks: readonly ('' | 'same' | 'alike' | 'failed')[];
  readonly others: readonly ComparedCall[];
  readonly parts: string;
  readonly differs: boolean;
}
export const parseComparedRow: parse.Parser<ComparedRow> = parse.record<ComparedRow>({
  index: parse.number,
  count: parse.otherwise(parse.number, 0),
  icon: parse.otherwise(parse.text, ''),
  name: parse.otherwise(parse.text, ''),
  subject: parse.otherwise(parse.text, ''),
  ending: parse.otherwise(parse.text, ''),
  note: parse.otherwise(parse.text, ''),
  numbers: parse.otherwise(parse.list(parse.text), []),
  marks: parse.otherwise(parse.list(parse.oneOf('', 'same', 'alike', 'failed')), []),
  others: parse.otherwise(parse.list(parseComparedCall), []),
  parts: parse.otherwise(parse.text, ''),
  differs: parse.otherwise(parse.flag, false),
});

/** The outcomes of each run, in the order of the runs. ``tasks`` is empty where the runs are of one task, or of one each. */
export interface ComparedOutcomes {
  readonly type: 'outcomes';
  readonly checks: readonly ComparedCheck[];
  readonly cells: readonly (readonly ComparedCell[])[];
  readonly tasks: readonly ComparedGroup[];
}
export const parseComparedOutcomes: parse.Parser<ComparedOutcomes> = parse.record<ComparedOutcomes>({
  type: parse.oneOf('outcomes'),
  checks: parse.list(parseComparedCheck),
  cells: parse.list(parse.list(parseComparedCell)),
  tasks: parse.otherwise(parse.list(parseComparedGroup), []),
});

/** Rows from ``first`` on, ``total`` of them. ``partings`` are the rows at which runs part. */
export interface ComparedPage {
  readonly type: 'compared';
  readonly first: number;
  readonly total: number;
  readonly rows: readonly ComparedRow[];
  readonly partings: readonly number[];
}
export const parseComparedPage: parse.Parser<ComparedPage> = parse.record<ComparedPage>({
  type: parse.oneOf('compared'),
  first: parse.number,
  total: parse.number,
  rows: parse.list(parseComparedRow),
  partings: parse.otherwise(parse.list(parse.number), []),
});

/** The comparison against one baseline. ``explorer`` is its id in the kernel, which requests name; ``facts`` summarise it. ``forms`` are the forms of checks. */
export interface ComparisonView {
  readonly type: 'comparison';
  readonly explorer: string;
  readonly baseline: number;
  readonly facts: string;
  readonly runs: readonly ComparedRun[];
  readonly totals: readonly ComparedTotal[];
  readonly outcomes: ComparedOutcomes;
  readonly page: ComparedPage;
  readonly forms: readonly ComparedForm[];
}
export const parseComparisonView: parse.Parser<ComparisonView> = parse.record<ComparisonView>({
  type: parse.oneOf('comparison'),
  explorer: parse.text,
  baseline: parse.number,
  facts: parse.text,
  runs: parse.list(parseComparedRun),
  totals: parse.list(parseComparedTotal),
  outcomes: parseComparedOutcomes,
  page: parseComparedPage,
  forms: parse.otherwise(parse.list(parseComparedForm), []),
});
