// Generated from nbtools/traces/comparison/comparison_messages.py by labextension/scripts/wire_types.py: run `make wire` after a change there.

import * as parse from '../shared/parse.js';
import { parseColumnBlock, type ColumnBlock } from '../shared/columns_model.js';

/** Asks for the comparison with another baseline. */
export interface BaselineParams {
  readonly explorer: string;
  readonly baseline: number;
}

/** Asks to compare this log with listed sessions, by their ids. */
export interface CompareWithParams {
  readonly explorer: string;
  readonly ids: readonly string[];
}

/** The finding of a check in a run. ``step`` is the number of the step that says so, empty for none. ``inferred``: not the log says so, but the output of the tests; ``note`` says why. */
export interface ComparedCell {
  readonly state: 'passed' | 'failed' | 'unknown' | '';
  readonly text: string;
  readonly step: string;
  readonly inferred: boolean;
  readonly note: string;
}
export const parseComparedCell: parse.Parser<ComparedCell> = parse.record<ComparedCell>({
  state: parse.oneOf('passed', 'failed', 'unknown', ''),
  text: parse.text,
  step: parse.otherwise(parse.text, ''),
  inferred: parse.otherwise(parse.flag, false),
  note: parse.otherwise(parse.text, ''),
});

/** A column of outcomes. ``source`` is the check as it is written, ``states`` what it states, ``rate`` how many runs passed, and how many of these outcomes are inferred. */
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

/** Asks for ``count`` steps from ``first`` on. */
export interface ComparedRowsParams {
  readonly explorer: string;
  readonly baseline: number;
  readonly first: number;
  readonly count: number;
}

/** A run. ``name`` is its letter, ``about`` its agent and model, ``log`` where its log is; ``totals`` are the cells under the view's ``totals``, and ``shares`` what part each is of the largest in its column, from 0 to 1; 0: not recorded, or the same in all runs.

``parts`` says where it parts from the baseline, empty for the baseline and for the same steps; ``step`` is its step number there. */
export interface ComparedRun {
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly log: string;
  readonly totals: readonly string[];
  readonly shares: readonly number[];
  readonly parts: string;
  readonly step: string;
}
export const parseComparedRun: parse.Parser<ComparedRun> = parse.record<ComparedRun>({
  name: parse.text,
  title: parse.text,
  about: parse.text,
  log: parse.text,
  totals: parse.list(parse.text),
  shares: parse.list(parse.number),
  parts: parse.otherwise(parse.text, ''),
  step: parse.otherwise(parse.text, ''),
});

/** A column of totals; ``title`` says what is counted. ``leads``: it stands beside the names of the runs. */
export interface ComparedTotal {
  readonly label: string;
  readonly title: string;
  readonly leads: boolean;
}
export const parseComparedTotal: parse.Parser<ComparedTotal> = parse.record<ComparedTotal>({
  label: parse.text,
  title: parse.text,
  leads: parse.otherwise(parse.flag, false),
});

/** Asks for the explorer of a run, at one of its steps. */
export interface OpenRunParams {
  readonly explorer: string;
  readonly run: number;
  readonly step: string;
}

/** Asks what these checks find. */
export interface OutcomesParams {
  readonly explorer: string;
  readonly baseline: number;
  readonly checks: readonly string[];
}

/** The outcomes of each run, in the order of the runs. ``tasks`` is empty where the runs are of one task, or of one each. */
export interface ComparedOutcomes {
  readonly checks: readonly ComparedCheck[];
  readonly cells: readonly (readonly ComparedCell[])[];
  readonly tasks: readonly ComparedGroup[];
}
export const parseComparedOutcomes: parse.Parser<ComparedOutcomes> = parse.record<ComparedOutcomes>({
  checks: parse.list(parseComparedCheck),
  cells: parse.list(parse.list(parseComparedCell)),
  tasks: parse.otherwise(parse.list(parseComparedGroup), []),
});

/** Steps from ``first`` on, of ``total``. ``block`` has their columns, and ``others`` those of calls that are only similar to the one that a step names (``comparison.comparison_rows``). */
export interface ComparedRows {
  readonly first: number;
  readonly total: number;
  readonly block: ColumnBlock;
  readonly others: ColumnBlock;
}
export const parseComparedRows: parse.Parser<ComparedRows> = parse.record<ComparedRows>({
  first: parse.number,
  total: parse.number,
  block: parseColumnBlock,
  others: parseColumnBlock,
});

/** The comparison against one baseline. ``explorer`` is its id in the kernel, which requests name; ``facts`` summarise it. ``forms`` are the forms of checks. */
export interface ComparisonView {
  readonly explorer: string;
  readonly baseline: number;
  readonly facts: string;
  readonly runs: readonly ComparedRun[];
  readonly totals: readonly ComparedTotal[];
  readonly outcomes: ComparedOutcomes;
  readonly forms: readonly ComparedForm[];
}
export const parseComparisonView: parse.Parser<ComparisonView> = parse.record<ComparisonView>({
  explorer: parse.text,
  baseline: parse.number,
  facts: parse.text,
  runs: parse.list(parseComparedRun),
  totals: parse.list(parseComparedTotal),
  outcomes: parseComparedOutcomes,
  forms: parse.otherwise(parse.list(parseComparedForm), []),
});
