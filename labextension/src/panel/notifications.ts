import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { DEFAULT_SETTINGS } from '../shared/setting_values.js';
import type { FollowedKernel, IKernelStates, ISettings } from '../shared/tokens.js';
import { isQuestionInView, showCell } from './jump.js';
import type { EndedCall, WaitingQuestion } from './model.js';
import { notebookNames } from './panel_context.js';
import { request } from './requests.js';

/** Characters of a call in a notification. */
const MAX_SUBJECT = 90;

interface Waiting {
  readonly kernel: FollowedKernel;
  readonly question: WaitingQuestion;
}

/** The panel *Agents*, which shows the questions that no cell shows. */
interface AgentsPanel {
  readonly panel: { readonly isVisible: boolean };
  show(): void;
}

/** Notifies once of each question that waits unseen, and of background work that ends unseen.  Marks the page's title meanwhile. */
export class Notifier {
  private readonly timers = new Map<string, number>();
  private readonly notified = new Map<string, string>();
  private readonly ended = new Map<string, Set<string>>();
  private readonly title: TitleMark;

  constructor(
    private readonly app: JupyterFrontEnd,
    private readonly states: IKernelStates,
    private readonly settings: ISettings | null,
    private readonly trans: TranslationBundle,
    private readonly agents: AgentsPanel | null
  ) {
    this.title = new TitleMark();
    states.changed.connect(() => this.update());
    document.addEventListener('visibilitychange', () => this.markTitle());
  }

  private get values(): ISettings['values'] {
    return this.settings?.values ?? DEFAULT_SETTINGS;
  }

  private get waiting(): ReadonlyMap<string, Waiting> {
    const rows = this.states.current.flatMap(kernel => (kernel.state?.questions ?? []).map(question => ({ kernel, question })));
    return new Map(rows.map(row => [row.question.data.id, row]));
  }

  private update(): void {
    const waiting = this.waiting;
    for (const id of [...this.timers.keys()].filter(id => !waiting.has(id))) {
      clearTimeout(this.timers.get(id));
      this.timers.delete(id);
    }
    for (const [id, notification] of [...this.notified].filter(([id]) => !waiting.has(id))) {
      notification && Notification.dismiss(notification);
      this.notified.delete(id);
    }
    for (const id of waiting.keys()) {
      this.timers.has(id) || this.notified.has(id) || this.wait(id);
    }
    this.states.current.forEach(kernel => this.notifyEnded(kernel));
    this.markTitle();
  }

  /** Looks at a question after the time that is set; one that is seen then is looked at again after the same time. */
  private wait(id: string): void {
    const check = () => {
      const row = this.waiting.get(id);
      this.timers.delete(id);
      if (!row) {
        return;
      }
      if (this.isSeen(row)) {
        this.wait(id);
      } else {
        this.notified.set(id, this.values.notifications ? this.notify(row) : '');
        this.markTitle();
      }
    };
    this.timers.set(id, window.setTimeout(check, Math.max(1, this.values.notifyAfter) * 1000));
  }

  private isSeen({ kernel, question }: Waiting): boolean {
    return document.visibilityState === 'visible' && (this.agents?.panel.isVisible || isQuestionInView(kernel, question.cell));
  }

  private notify({ kernel, question }: Waiting): string {
    const { trans } = this;
    const { card, id } = question.data;
    const message = trans.__('%1 asks: %2', notebookNames(kernel), shorten(`${card.tool} ${card.subject}`));
    const deny = () => {
      const answer = {
        question: id,
        outcome: 'deny',
        reason: '',
        text: null,
        files: null,
        file: null,
        answers: null,
        remember: false
      } as const;
      void request(this.states, kernel.kernel, trans, 'panel.answer', answer);
    };
    return Notification.warning(message, {
      autoClose: false,
      actions: [
        {
          label: trans.__('Show'),
          displayType: 'accent',
          callback: async () => (await showCell(this.app, kernel, question.cell)) || this.agents?.show()
        },
        { label: trans.__('Deny'), callback: deny }
      ]
    });
  }

  /** Notifies of background calls and agent runs that have ended since the page follows the kernel. */
  private notifyEnded(kernel: FollowedKernel): void {
    if (!kernel.state) {
      return;
    }
    const known = this.ended.get(kernel.kernel);
    this.ended.set(kernel.kernel, new Set(kernel.state.ended.map(({ id }) => id)));
    const isSeen = document.visibilityState === 'visible' && (this.agents?.panel.isVisible || kernel.panels.some(panel => panel.isVisible));
    if (known && !isSeen && this.values.notifications) {
      kernel.state.ended.filter(({ id }) => !known.has(id)).forEach(call => this.notifyOfEnd(kernel, call));
    }
  }

  private notifyOfEnd(kernel: FollowedKernel, call: EndedCall): void {
    const message = this.trans.__('%1: %2 has ended: %3', notebookNames(kernel), shorten(`${call.tool} ${call.subject}`), call.status);
    const actions = [{ label: this.trans.__('Show'), callback: () => void showCell(this.app, kernel, '') }];
    void (call.failed ? Notification.warning(message, { actions }) : Notification.success(message, { actions }));
  }

  private markTitle(): void {
    const waiting = this.waiting;
    const unseen = [...this.notified.keys()].filter(id => waiting.has(id));
    this.title.set(unseen.length);
  }
}

function shorten(text: string): string {
  return text.length > MAX_SUBJECT ? `${text.slice(0, MAX_SUBJECT - 1)}…` : text;
}

/** Keeps a number before the page's title, as in `(1) JupyterLab`, whatever else changes the title. */
class TitleMark {
  private count = 0;
  private readonly observer = new MutationObserver(() => this.apply());

  set(count: number): void {
    if (count === this.count) {
      return;
    }
    this.count = count;
    this.observer.disconnect();
    this.apply();
    const node = document.querySelector('title');
    count > 0 && node && this.observer.observe(node, { childList: true, characterData: true, subtree: true });
  }

  private apply(): void {
    const plain = document.title.replace(/^\(\d+\) /, '');
    const title = this.count > 0 ? `(${this.count}) ${plain}` : plain;
    if (document.title !== title) {
      document.title = title;
    }
  }
}
