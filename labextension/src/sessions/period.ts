import type { TranslationBundle } from '@jupyterlab/translation';
import { element } from '../shared/element.js';

/** The time in which sessions were active: seconds since the epoch; 0 for any. */
export interface Period {
  readonly since: number;
  readonly until: number;
}

const DAY = 86_400_000;

/** Returns the period of the last days, which begins at midnight: with 1, today. */
export function lastDays(days: number, now: Date): Period {
  const start = new Date(now.getFullYear(), now.getMonth(), now.getDate() - days + 1);
  return { since: start.getTime() / 1000, until: 0 };
}

/** Returns the period from one day to the end of another, as dates such as `2026-11-29`; an empty one is open. */
export function betweenDays(from: string, to: string): Period {
  const end = dayOf(to);
  end?.setDate(end.getDate() + 1);
  return { since: (dayOf(from)?.getTime() ?? 0) / 1000, until: end ? (end.getTime() - 1) / 1000 : 0 };
}

/** Returns the day of a time, as a date such as `2026-11-29`; empty for 0. */
export function dateOf(seconds: number): string {
  const local = new Date(seconds * 1000);
  const parts = [local.getMonth() + 1, local.getDate()].map(part => String(part).padStart(2, '0'));
  return seconds && Number.isFinite(local.getTime()) ? [String(local.getFullYear()).padStart(4, '0'), ...parts].join('-') : '';
}

function dayOf(date: string): Date | null {
  const day = new Date(`${date}T00:00`);
  return date && Number.isFinite(day.getTime()) && Math.abs(day.getTime()) < 1e5 * DAY ? day : null;
}

/** A menu of periods, with two dates for any other. */
export class PeriodMenu {
  readonly node = element('span', 'nbtools-sessions-period');
  readonly menu = element('select', 'nbtools-trace-menu');
  private readonly from = dateField();
  private readonly to = dateField();

  constructor(
    trans: TranslationBundle,
    private readonly change: (period: Period) => void
  ) {
    this.menu.setAttribute('aria-label', trans.__('Time'));
    this.menu.append(
      new Option(trans.__('any time'), ''),
      new Option(trans.__('today'), '1'),
      new Option(trans.__('last 7 days'), '7'),
      new Option(trans.__('last 30 days'), '30'),
      new Option(trans.__('from – to'), 'dates')
    );
    this.from.setAttribute('aria-label', trans.__('From'));
    this.to.setAttribute('aria-label', trans.__('To'));
    this.menu.addEventListener('change', () => this.choose());
    [this.from, this.to].forEach(field => field.addEventListener('change', () => this.changeDates()));
    this.node.append(this.menu, this.from, this.to);
  }

  /** Shows a period that was not chosen here. */
  update({ since, until }: Period): void {
    if (!since && !until) {
      this.menu.value = this.menu.value === 'dates' ? 'dates' : '';
    } else if (this.menu.value === '') {
      this.menu.value = 'dates';
      [this.from.value, this.to.value] = [dateOf(since), dateOf(until)];
    }
    this.menu.classList.toggle('nbtools-trace-chosen', since > 0 || until > 0);
    this.from.hidden = this.to.hidden = this.menu.value !== 'dates';
  }

  /** Shows another period, whatever was chosen here. */
  show(period: Period): void {
    this.menu.value = '';
    this.update(period);
  }

  private choose(): void {
    const { value } = this.menu;
    if (value === 'dates') {
      this.from.hidden = this.to.hidden = false;
      this.from.focus();
      this.changeDates();
    } else {
      this.change(value ? lastDays(Number(value), new Date()) : { since: 0, until: 0 });
    }
  }

  private changeDates(): void {
    this.change(betweenDays(this.from.value, this.to.value));
  }
}

function dateField(): HTMLInputElement {
  const field = element('input', 'nbtools-sessions-date');
  field.type = 'date';
  field.hidden = true;
  return field;
}
