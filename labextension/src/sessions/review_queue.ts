import type { TranslationBundle } from '@jupyterlab/translation';
import type { ReviewedLog } from '../explorer/model.js';
import { agreementText } from '../explorer/review.js';
import type { Params } from '../shared/channel.js';
import { element, focusedIn, linkButton, setText } from '../shared/element.js';
import type { SessionsContext } from './context.js';
import type { SessionReviews } from './model.js';

const SAMPLE = 30;
const MOST = 5000;

/** The sessions of the list among which the person chooses those to review. */
export interface ReviewChoice {
  readonly selected: readonly string[];
  readonly listed: readonly string[];
  readonly isFiltered: boolean;
}

export interface ReviewQueueEvents {
  choice(): ReviewChoice;
  /** The verdicts or the queue have changed. */
  changed(reviews: SessionReviews): void;
  /** Returns the focus to the list. */
  leave(): void;
}

type ReviewSettings = Partial<Pick<Params<'sessions.reviews'>, 'reviewer' | 'blind'>>;

/**
 * The review of several sessions: a form that begins it, its head in the list, with progress and agreement, and a line above
 * each session that is opened from it.
 */
export class ReviewQueueView {
  readonly node = element('section', 'nbtools-sessions-review');
  /** Opens the form. */
  readonly button: HTMLButtonElement;
  private readonly form = element('form', 'nbtools-sessions-review-row');
  private readonly head = element('div', 'nbtools-sessions-review-row');
  private readonly fields = element('div', 'nbtools-sessions-review-row');
  private readonly scope = element('select', 'nbtools-trace-menu');
  private readonly size = numberField(1, MOST, SAMPLE);
  private readonly seed = numberField(0, 2 ** 31 - 1, 0);
  private readonly sampleFields: HTMLElement;
  private readonly progress = element('progress');
  private readonly counted = element('span', 'nbtools-sessions-reviewed');
  private readonly continueButton: HTMLButtonElement;
  private readonly reviewer = element('input', 'nbtools-trace-reviewer');
  private readonly blind = element('input');
  private readonly message = element('span', 'nbtools-trace-quiet');
  private readonly line = element('span', 'nbtools-sessions-review-line');
  private readonly lineText = element('span');
  private readonly note = element('span', 'nbtools-trace-quiet');
  private reviews: SessionReviews | null = null;
  /** Settings that the person has changed and that were not sent yet. */
  private unsent: ReviewSettings = {};
  /** Settles with the last answer.  A request is sent when the one before is answered: no answer comes after that of a later one. */
  private answered: Promise<unknown> = Promise.resolve();
  /** The session that was opened last. */
  private session = '';
  /** Whether there was no further session to open. */
  private isAtEnd = false;

  constructor(
    private readonly context: SessionsContext,
    private readonly explorer: string,
    private readonly events: ReviewQueueEvents
  ) {
    const { trans } = context;
    this.button = linkButton(
      trans.__('Review these'),
      () => this.openForm(),
      trans.__('Give verdicts on several sessions, one after the other')
    );
    this.continueButton = linkButton(trans.__('Continue'), () => this.open(), trans.__('Open the next session without a verdict of yours'));
    this.continueButton.append(nextKey());
    this.sampleFields = element(
      'span',
      'nbtools-sessions-review-row',
      labelled(trans.__('Sessions'), this.size),
      labelled(trans.__('Seed'), this.seed)
    );
    this.build(trans);
  }

  get isActive(): boolean {
    return (this.reviews?.keys.length ?? 0) > 0;
  }

  /** Asks for the verdicts and the queue, if they are not those that are shown, after changing a setting. */
  async refresh(change: ReviewSettings = {}): Promise<void> {
    this.unsent = { ...this.unsent, ...change };
    await this.ask(() => {
      const params = { explorer: this.explorer, version: this.reviews?.version ?? '', reviewer: null, blind: null, ...this.unsent };
      this.unsent = {};
      return this.context.client.request('sessions.reviews', params);
    });
  }

  /** Opens a session of the queue, by default the next one without a verdict after another. */
  open(id = '', after = ''): void {
    const { context, explorer } = this;
    focusedIn(this.node) && this.events.leave(); // what has the focus here may be hidden when the person comes back
    context.review?.({
      ask: () => context.client.request('sessions.next', { explorer, id, after }),
      line: this.line,
      opened: log => this.onOpened(log),
      changed: () => void this.refresh(),
      next: session => this.open('', session)
    });
  }

  private onOpened({ session, view, skipped }: ReviewedLog): void {
    const { trans } = this.context;
    const [first = ''] = skipped;
    this.session = session;
    const left = trans._n('%1 session was skipped: %2', '%1 sessions were skipped: %2', skipped.length, skipped.length, first);
    setText(this.note, skipped.length ? left : '');
    setText(this.message, this.note.textContent ?? '');
    this.isAtEnd = view === null;
    void this.refresh().then(() => this.drawEnd());
  }

  /** Says why no session was opened, as far as the last answer tells. */
  private drawEnd(): void {
    const { trans } = this.context;
    const waiting = (this.reviews?.keys.length ?? 0) - (this.reviews?.done ?? 0);
    const note = this.note.textContent ?? '';
    const none = trans.__('No session is left without a verdict of yours.');
    const one = note ? '' : trans.__('Only the session that you come from is left without a verdict of yours.');
    this.isAtEnd && setText(this.message, [note, waiting > 0 ? one : none].filter(Boolean).join(' · '));
  }

  private build(trans: TranslationBundle): void {
    const { form, head, fields, reviewer, blind } = this;
    this.node.setAttribute('aria-label', trans.__('Review of several sessions'));
    this.node.hidden = form.hidden = head.hidden = true;
    this.progress.setAttribute('aria-label', trans.__('Reviewed'));
    this.message.setAttribute('role', 'status');
    this.line.setAttribute('role', 'status');
    this.scope.setAttribute('aria-label', trans.__('Sessions to review'));
    this.scope.addEventListener('change', () => this.drawForm());
    this.seed.title = trans.__('The seed of the order: the same seed always gives the same order.');
    this.sampleFields.title = trans.__('In turn from each agent and outcome, at random within these');
    reviewer.maxLength = 200;
    reviewer.addEventListener('change', () => void this.refresh({ reviewer: reviewer.value.trim() }));
    blind.type = 'checkbox';
    blind.addEventListener('change', () => void this.refresh({ blind: blind.checked }));
    const start = element('button', 'nbtools-trace-chip', trans.__('Start'));
    start.type = 'submit';
    form.append(
      this.scope,
      this.sampleFields,
      start,
      linkButton(trans.__('cancel'), () => this.closeForm())
    );
    form.addEventListener('submit', event => {
      event.preventDefault();
      void this.start();
    });
    const blindLabel = element('label', '', blind, ' ', trans.__('blind'));
    blindLabel.title = trans.__('Hides what others wrote about a session until you have given your verdict on it');
    const reviewerLabel = labelled(trans.__('Reviewer'), reviewer);
    reviewerLabel.title = trans.__('The name that your verdicts, labels and notes carry');
    fields.append(reviewerLabel, blindLabel, this.message);
    head.append(
      this.progress,
      this.counted,
      this.continueButton,
      linkButton(trans.__('end this review'), () => void this.begin([]))
    );
    const next = linkButton(
      trans.__('next session'),
      () => this.open('', this.session),
      trans.__('Open the next session without a verdict of yours. The key u does so where this session has one.')
    );
    next.append(nextKey());
    this.line.append(this.lineText, ' ', next, ' ', this.note);
    this.node.append(form, head, fields);
  }

  /** Handles a key in the form or the head; returns whether it did. */
  onKey(key: string, target: Element): boolean {
    if (key === 'Escape') {
      this.closeForm();
    } else if (key === 'Enter' && target === this.scope) {
      void this.start();
    } else {
      return false;
    }
    return true;
  }

  /** Opens the form: the selected sessions are chosen at first, else those under the filter, else a sample. */
  private openForm(): void {
    const { trans } = this.context;
    const { selected, listed, isFiltered } = this.events.choice();
    this.scope.replaceChildren(
      ...(selected.length ? [new Option(trans.__('%1 selected', selected.length.toLocaleString()), 'selected')] : []),
      new Option(trans.__('all %1 that are listed', listed.length.toLocaleString()), 'listed'),
      new Option(trans.__('a sample of those listed'), 'sample')
    );
    const fallback = isFiltered && listed.length <= MOST ? 'listed' : 'sample';
    this.scope.value = selected.length ? 'selected' : fallback;
    this.form.hidden = false;
    this.drawForm();
    this.drawHead();
    this.scope.focus();
  }

  private drawForm(): void {
    this.sampleFields.hidden = this.scope.value !== 'sample';
  }

  private closeForm(): void {
    this.form.hidden = true;
    this.drawHead();
    this.events.leave();
  }

  private async start(): Promise<void> {
    const { selected, listed } = this.events.choice();
    const sample = this.scope.value === 'sample' ? valueOf(this.size, SAMPLE) : null;
    const ids = this.scope.value === 'selected' ? selected : listed;
    if (ids.length) {
      (await this.begin(ids, sample)) && this.open();
    } else {
      setText(this.message, this.context.trans.__('No session matches.')); // none would end the review
    }
  }

  /** Makes sessions the queue, and returns whether that was possible. */
  private async begin(ids: readonly string[], sample: number | null = null): Promise<boolean> {
    const params = { explorer: this.explorer, ids, sample, seed: valueOf(this.seed, 0) };
    this.isAtEnd = false;
    focusedIn(this.node) && this.events.leave();
    this.form.hidden = true;
    return this.ask(() => this.context.client.request('sessions.review', params));
  }

  private ask(request: () => Promise<SessionReviews>): Promise<boolean> {
    const isAnswered = this.answered.then(() => this.show(request));
    this.answered = isAnswered.catch(() => undefined);
    return isAnswered;
  }

  private async show(request: () => Promise<SessionReviews>): Promise<boolean> {
    try {
      this.take(await request());
      return true;
    } catch (error) {
      setText(this.message, this.context.problemOf(error));
      this.node.hidden = false;
      return false;
    }
  }

  private take(reviews: SessionReviews): void {
    if (!reviews.changed) {
      return;
    }
    this.reviews = reviews;
    this.reviewer.placeholder = reviews.reviewer;
    this.blind.checked = this.unsent.blind ?? reviews.blind;
    this.drawHead();
    this.drawEnd();
    this.events.changed(reviews);
  }

  private drawHead(): void {
    const { trans } = this.context;
    const { reviews } = this;
    const total = reviews?.keys.length ?? 0;
    const done = reviews?.done ?? 0;
    this.head.hidden = total === 0;
    this.node.hidden = total === 0 && this.form.hidden;
    this.continueButton.hidden = done >= total;
    this.progress.max = Math.max(total, 1);
    this.progress.value = done;
    const parts = [
      trans.__('%1 of %2 reviewed', done.toLocaleString(), total.toLocaleString()),
      ...(reviews?.agreements ?? []).map(agreement => agreementText(agreement, trans)),
      ...(reviews?.gone ? [trans._n('%1 is no longer there', '%1 are no longer there', reviews.gone)] : [])
    ];
    setText(this.counted, parts.join(' · '));
    setText(this.lineText, parts.join(' · '));
  }
}

/** Shows the key that opens the next session. */
function nextKey(): HTMLElement {
  const sign = element('span', 'nbtools-trace-key', 'u');
  sign.setAttribute('aria-hidden', 'true');
  return sign;
}

function labelled(text: string, field: HTMLElement): HTMLElement {
  return element('label', '', text, ' ', field);
}

function numberField(least: number, most: number, value: number): HTMLInputElement {
  const field = element('input', 'nbtools-trace-seed');
  field.type = 'number';
  field.min = String(least);
  field.max = String(most);
  field.value = String(value);
  return field;
}

function valueOf({ value, min, max }: HTMLInputElement, otherwise: number): number {
  const number = Math.trunc(Number(value));
  return value.trim() === '' || Number.isNaN(number) ? otherwise : Math.min(Math.max(number, Number(min)), Number(max));
}
