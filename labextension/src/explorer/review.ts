import type { TranslationBundle } from '@jupyterlab/translation';
import { element, linkButton, setText } from '../shared/element.js';
import type { SessionReview } from './explorer_context.js';
import type { LineMoves } from './line_moves.js';
import type { Params } from '../shared/channel.js';
import type { ReviewAgreement, TraceMark, TraceReview } from './model.js';
import { failureMessage, type LogRequests } from './requests.js';
import { RecordListView } from './review_records.js';

/** Milliseconds until the review is read again while the kernel looks for signals. */
const SIGNALS_DELAY = 500;
/** Each further time comes after twice as long, and at most this. */
const MAX_SIGNALS_DELAY = 16_000;
/** Milliseconds until the review is read again after the log has grown. */
const GROWTH_DELAY = 3000;
/** A review that takes long is read again after this many times as long. */
const REST = 5;

/** The lines that a verdict is about; null is the whole session.  `span` is the text that the person has selected. */
export interface ReviewTarget {
  readonly line: number | null;
  readonly last: number | null;
  readonly span: string;
}

export interface ReviewEvents {
  /** Returns the selected lines; null if there are none. */
  target(): ReviewTarget | null;
  goToLine(line: number): void;
  /** The review has changed. */
  changed(marks: ReadonlyMap<number, readonly TraceMark[]>): void;
  /** The marks have moved with their lines. */
  moved(marks: ReadonlyMap<number, readonly TraceMark[]>): void;
  /** Returns the version of the log of which the target's lines are. */
  version(): number;
  /** Returns the focus to the list. */
  leave(): void;
  /** The review of several sessions to which this one belongs; null if it is reviewed alone. */
  readonly several: SessionReview | null;
}

type Request = Omit<Params<'trace.review'>, 'explorer'>;
type Change = Partial<Omit<Request, 'action' | 'reviewer'>>;

const ORDERS: readonly Request['order'][] = ['random', 'stratified', 'recorded'];
export type Verdict = 'pass' | 'fail' | 'defer';

/** The bar of verdicts, labels and notes.  It is hidden until the person reviews something. */
export class ReviewView {
  readonly node = element('section', 'nbtools-trace-review');
  readonly toggle: HTMLButtonElement;
  readonly noteField = element('input', 'nbtools-trace-note');
  private readonly bar = element('div', 'nbtools-trace-review-bar');
  private readonly codes = element('span', 'nbtools-trace-chips');
  private readonly noteRow: HTMLElement;
  private readonly target = element('span', 'nbtools-trace-quiet');
  private readonly progress = element('progress');
  private readonly counted = element('span', 'nbtools-trace-reviewed');
  private readonly nextButton: HTMLButtonElement;
  private readonly order = element('select', 'nbtools-trace-menu');
  private readonly seed = element('input', 'nbtools-trace-seed');
  private readonly reviewer = element('input', 'nbtools-trace-reviewer');
  private readonly agreement = element('span', 'nbtools-trace-quiet');
  private readonly message = element('span', 'nbtools-trace-review-message');
  private readonly records: RecordListView;
  private review: TraceReview | null = null;
  private noteTarget: ReviewTarget | null = null;
  /** The marks that are shown, as JSON. */
  private marks = '[]';
  private timer = 0;
  private signalsDelay = SIGNALS_DELAY;
  /** Milliseconds that the last answer took. */
  private took = 0;
  private disposed = false;
  /** Settles when everything that was written is answered. */
  private written: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly trans: TranslationBundle,
    private readonly requests: LogRequests,
    private readonly events: ReviewEvents
  ) {
    this.toggle = linkButton(trans.__('review'), () => this.show(this.node.hidden), trans.__('Verdicts, labels and notes on these steps'));
    this.toggle.setAttribute('aria-expanded', 'false');
    this.nextButton = this.button(trans.__('Next unreviewed'), 'u', () => void this.goToNext());
    this.noteRow = this.createNoteRow();
    this.records = new RecordListView(trans, {
      goToLine: line => events.goToLine(line),
      sort: (label, value) => void this.send('sort', { label, value }),
      withdraw: label => void this.send('withdraw', { label })
    });
    this.build();
  }

  /** Reads the review, for the marks in the list. */
  async start(): Promise<void> {
    await this.send('read');
  }

  /** Takes over where the lines of the log are now.  What is new about the review comes a moment later. */
  move(moves: LineMoves): void {
    const { noteTarget } = this;
    const to = (line: number | null) => (line === null ? null : moves.of(line));
    this.noteTarget = noteTarget && { ...noteTarget, line: to(noteTarget.line), last: to(noteTarget.last) };
    if (this.review === null) {
      return;
    }
    if (!moves.isIdentity) {
      const of = (line: number | null) => (line === null ? null : moves.find(line));
      const { marks, labels, following } = this.review;
      const moved = marks.flatMap(mark => (of(mark.line) === null ? [] : { ...mark, line: moves.of(mark.line) }));
      const placed = labels.map(label => ({ ...label, line: of(label.line), last: of(label.last) }));
      this.review = { ...this.review, marks: moved, labels: placed, following: of(following) };
      this.marks = JSON.stringify(moved);
      this.records.update(placed, this.review.records, this.review.codes);
      this.events.moved(marksByLine(moved));
    }
    this.schedule(GROWTH_DELAY);
  }

  verdict(value: Verdict, session = false): void {
    this.act('verdict', value, session ? { line: null, last: null, span: '' } : this.events.target());
  }

  /** Applies or removes the code with this key.  Waits for the codes, and then does so if the same step is still selected. */
  async label(key: string): Promise<void> {
    const line = this.events.target()?.line;
    this.review || (await this.send('read'));
    const code = this.review?.codes.find(one => one.key === key);
    const target = this.events.target();
    code && target?.line === line && this.act('label', code.name, target);
  }

  /** Opens the field for a note about the selected lines. */
  startNote(): void {
    this.noteTarget = this.events.target();
    this.show(true);
    this.noteRow.hidden = false;
    setText(this.target, this.describe(this.noteTarget));
    this.noteField.focus();
  }

  saveNote(): void {
    const text = this.noteField.value.trim();
    if (text && this.noteTarget) {
      this.act('note', text, this.noteTarget);
    }
    this.endNote();
  }

  endNote(): void {
    this.noteField.value = '';
    this.noteRow.hidden = true;
    this.events.leave();
  }

  undo(): void {
    void this.send('undo');
  }

  /** Goes to the next unreviewed step; among several sessions to the next one, once this one has a verdict or no such step. */
  async goToNext(): Promise<void> {
    const { several } = this.events;
    this.show(true);
    await this.written;
    this.review || (await this.send('read'));
    const { following = null, judged = false } = this.review ?? {};
    if (several && this.review && (judged || following === null)) {
      several.next();
    } else {
      following === null || this.events.goToLine(following);
    }
  }

  dispose(): void {
    this.disposed = true;
    window.clearTimeout(this.timer);
  }

  /** The selection has changed: the next unreviewed line may be another. */
  onSelect(): void {
    if (!this.node.hidden && this.order.value === 'recorded') {
      void this.send('read');
    }
  }

  private act(action: Request['action'], value: string, target: ReviewTarget | null): void {
    this.show(true);
    if (target === null) {
      setText(this.message, this.trans.__('Select a step first.'));
    } else {
      void this.send(action, { value, ...target });
    }
  }

  private send(action: Request['action'], change: Change = {}): Promise<void> {
    const sent = this.ask(action, change);
    this.written = action === 'read' ? this.written : Promise.all([this.written, sent]);
    return sent;
  }

  private async ask(action: Request['action'], change: Change): Promise<void> {
    const current = this.events.target();
    const [order, seed] = [
      this.order.value as Request['order'],
      Math.min(Math.max(Math.trunc(Number(this.seed.value) || 0), 0), 2 ** 31 - 1)
    ];
    const place = { line: current?.line ?? null, last: current?.last ?? null };
    const request = {
      action,
      reviewer: this.reviewer.value.trim(),
      ...place,
      version: this.events.version(),
      value: '',
      span: '',
      label: '',
      order,
      seed,
      ...change
    };
    const started = Date.now();
    try {
      const review = await this.requests.ask('trace.review', request);
      this.took = Date.now() - started;
      this.update(review, action === 'read');
    } catch (error) {
      setText(this.message, failureMessage(error));
    }
  }

  private update(review: TraceReview, onlyRead: boolean): void {
    if (this.disposed) {
      return;
    }
    const { trans } = this;
    onlyRead || setText(this.message, review.message);
    onlyRead || this.events.several?.changed();
    if (review.version !== this.events.version()) {
      return this.schedule(GROWTH_DELAY); // its lines are not yet those that the page shows
    }
    if (JSON.stringify(review.codes) !== JSON.stringify(this.review?.codes)) {
      this.codes.replaceChildren(...review.codes.map(code => this.codeButton(code)));
    }
    this.review = review;
    this.progress.max = Math.max(review.total, 1);
    this.progress.value = review.done;
    const [done, total] = [review.done.toLocaleString(), review.total.toLocaleString()];
    setText(
      this.counted,
      review.sessions ? trans.__('%1 of %2 sessions reviewed', done, total) : trans.__('%1 of %2 calls reviewed', done, total)
    );
    this.nextButton.disabled = review.following === null && this.events.several === null;
    this.reviewer.placeholder = review.reviewer;
    const agreements = review.agreements.map(agreement => agreementText(agreement, trans)).join(' · ');
    setText(this.agreement, review.hidden ? trans.__('blind: what others wrote is hidden until your verdict on the session') : agreements);
    this.records.update(review.labels, review.records, review.codes);
    const marks = JSON.stringify(review.marks);
    if (marks !== this.marks) {
      this.marks = marks;
      this.events.changed(marksByLine(review.marks));
    }
    this.signalsDelay = review.complete ? SIGNALS_DELAY : Math.min(2 * this.signalsDelay, MAX_SIGNALS_DELAY);
    review.complete || this.schedule(this.signalsDelay / 2);
  }

  private schedule(delay: number): void {
    this.timer ||= window.setTimeout(
      () => {
        this.timer = 0;
        void this.start();
      },
      Math.max(delay, REST * this.took)
    );
  }

  private build(): void {
    const { trans, bar } = this;
    this.node.hidden = this.noteRow.hidden = true;
    this.node.setAttribute('aria-label', trans.__('Review'));
    this.message.setAttribute('role', 'status');
    this.progress.setAttribute('aria-label', trans.__('Reviewed'));
    this.progress.value = 0;
    this.codes.setAttribute('role', 'group');
    this.codes.setAttribute('aria-label', trans.__('Labels'));
    const labels = { random: trans.__('random order'), stratified: trans.__('by agent and outcome'), recorded: trans.__('as recorded') };
    this.order.append(...ORDERS.map(order => new Option(labels[order], order)));
    this.order.setAttribute('aria-label', trans.__('Order of the queue'));
    this.seed.type = 'number';
    this.seed.min = '0';
    this.seed.value = '0';
    this.seed.title = trans.__('The seed of the order: the same seed always gives the same order.');
    this.seed.setAttribute('aria-label', trans.__('Seed'));
    this.reviewer.setAttribute('aria-label', trans.__('Reviewer'));
    this.reviewer.title = trans.__('The name that your verdicts, labels and notes carry');
    [this.order, this.seed, this.reviewer].forEach(field => field.addEventListener('change', () => void this.send('read')));
    bar.append(
      this.button(trans.__('Pass'), 'p', () => this.verdict('pass')),
      this.button(trans.__('Fail'), 'f', () => this.verdict('fail')),
      this.button(trans.__('Defer'), 'd', () => this.verdict('defer')),
      this.button(trans.__('Note'), 'n', () => this.startNote()),
      this.button(trans.__('Undo'), 'z', () => this.undo()),
      this.codes
    );
    const queue = element('div', 'nbtools-trace-review-bar', this.progress, this.counted, this.order, this.seed, this.nextButton);
    queue.append(this.reviewer, this.agreement, this.message);
    this.node.append(bar, this.noteRow, queue, this.records.node);
    if (this.events.several) {
      const verdicts = [
        [trans.__('Pass'), 'P', 'pass'],
        [trans.__('Fail'), 'F', 'fail'],
        [trans.__('Defer'), 'D', 'defer']
      ] as const;
      const buttons = verdicts.map(([label, key, verdict]) => this.button(label, key, () => this.verdict(verdict, true)));
      const group = element('span', 'nbtools-trace-chips', trans.__('The session:'), ...buttons);
      group.setAttribute('role', 'group');
      group.setAttribute('aria-label', trans.__('Verdict on the session'));
      this.node.prepend(element('div', 'nbtools-trace-review-bar', group));
      this.order.value = 'recorded';
      this.reviewer.hidden = true; // one name for all sessions, which the list has
      this.show(true);
    }
  }

  private createNoteRow(): HTMLElement {
    const { trans, noteField } = this;
    noteField.setAttribute('aria-label', trans.__('Note'));
    noteField.placeholder = trans.__('A note; Enter saves it');
    noteField.maxLength = 20_000;
    const save = linkButton(trans.__('save'), () => this.saveNote());
    return element(
      'div',
      'nbtools-trace-review-bar',
      this.target,
      noteField,
      save,
      linkButton(trans.__('cancel'), () => this.endNote())
    );
  }

  private button(label: string, key: string, act: () => void): HTMLButtonElement {
    const sign = element('span', 'nbtools-trace-key', key);
    sign.setAttribute('aria-hidden', 'true');
    const button = element('button', 'nbtools-trace-chip', label, sign);
    button.type = 'button';
    button.addEventListener('click', act);
    return button;
  }

  /** Creates the button of a code, on which notes can be dropped. */
  private codeButton({ name, key, description }: TraceReview['codes'][number]): HTMLElement {
    const button = this.button(name, key, () => this.act('label', name, this.events.target()));
    button.title = description;
    button.addEventListener('dragover', event => this.records.dragged !== null && event.preventDefault());
    button.addEventListener('drop', event => {
      event.preventDefault();
      const label = this.records.dragged;
      label === null || void this.send('sort', { label, value: name });
    });
    return button;
  }

  private describe(target: ReviewTarget | null): string {
    const { trans } = this;
    if (target === null) {
      return trans.__('Select a step first.');
    }
    return target.span
      ? trans.__('On “%1”:', target.span.slice(0, 40))
      : target.last === null
        ? trans.__('On this step:')
        : trans.__('On these steps:');
  }

  private show(visible: boolean): void {
    this.node.hidden = !visible;
    this.toggle.setAttribute('aria-expanded', String(visible));
  }
}

/** Describes the agreement with another reviewer, with the interval of κ. */
export function agreementText({ reviewer, items, kappa, low, high }: ReviewAgreement, trans: TranslationBundle): string {
  const value = kappa === null ? '–' : kappa.toFixed(2);
  return low === null || high === null
    ? trans.__('Agreement with %1: κ %2 on %3', reviewer, value, items)
    : trans.__('Agreement with %1: κ %2 (%4 to %5) on %3', reviewer, value, items, low.toFixed(2), high.toFixed(2));
}

function marksByLine(marks: readonly TraceMark[]): Map<number, TraceMark[]> {
  const byLine = new Map<number, TraceMark[]>();
  for (const mark of marks) {
    const list = byLine.get(mark.line);
    list ? list.push(mark) : byLine.set(mark.line, [mark]);
  }
  return byLine;
}
