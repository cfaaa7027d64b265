import type { JupyterFrontEnd } from '@jupyterlab/application';
import { Notification } from '@jupyterlab/apputils';
import type { IStateDB } from '@jupyterlab/statedb';
import type { TranslationBundle } from '@jupyterlab/translation';
import { element } from '../shared/element.js';
import type { IKernelStates } from '../shared/tokens.js';

export const TOUR = 'nbtools:tour';
/** Key in the state database: the tour was offered. */
const OFFERED = 'nbtools-agent:tour-offered';

/** Milliseconds for which the offer is in view; the list of notifications has it for longer. */
const OFFER_TIME = 15_000;

/** A step points at the first of its targets that is on the page; `panel` is shown first. */
interface Step {
  readonly title: string;
  readonly text: string;
  readonly targets: readonly string[];
  readonly panel?: string;
}

const AGENTS = 'nbtools-agents';
const STATUS = '.nbtools-status-button';
const POINTED_AT = 'nbtools-tour-target';

function stepsOf(trans: TranslationBundle): readonly Step[] {
  return [
    {
      title: trans.__('A first call'),
      text: trans.__(
        'Run “%tool ls” in a cell, or choose “New Call…” in the command palette for a form. The result is a card; its paths open the files.'
      ),
      targets: ['.jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell.jp-mod-active', '.jp-Launcher']
    },
    {
      title: trans.__('The question'),
      text: trans.__(
        'A call that changes something asks first, with the whole change in view: y approves once, Esc denies, ? shows all keys. Nothing happens until you answer, and undo takes a change back.'
      ),
      targets: ['.nbtools-asking', STATUS]
    },
    {
      title: trans.__('The panel'),
      text: trans.__(
        'The panel “Agents” at the left lists what waits, what runs and what was changed in all notebooks. Questions can be answered there too.'
      ),
      targets: [`#${AGENTS}`, STATUS],
      panel: AGENTS
    },
    {
      title: trans.__('A session log'),
      text: trans.__(
        '“Open a session log” shows what an agent did, step by step: its messages, calls and changes. The launcher has a tile for it.'
      ),
      targets: [`#${AGENTS}`],
      panel: AGENTS
    }
  ];
}

/** Shows the steps one after the other in a small box, which leaves the page usable.  Esc or *Skip* ends it. */
export class Tour {
  private node: HTMLElement | null = null;
  private before: Element | null = null;

  private target: Element | null = null;

  constructor(
    private readonly app: JupyterFrontEnd,
    private readonly trans: TranslationBundle
  ) {}

  start(): void {
    this.end();
    this.before = document.activeElement;
    this.node = element('section', 'nbtools-tour');
    this.node.setAttribute('role', 'dialog');
    this.node.setAttribute('aria-label', this.trans.__('Tour of nbtools'));
    this.node.addEventListener('keydown', event => {
      event.stopPropagation();
      event.key === 'Escape' && this.end();
    });
    document.body.append(this.node);
    this.show(0);
  }

  private show(index: number): void {
    const { trans } = this;
    const steps = stepsOf(trans);
    const { title, text, targets, panel } = steps[index]!;
    panel && this.app.shell.activateById(panel);
    this.pointAt(targets);
    const button = (label: string, className: string, run: () => void) => {
      const node = element('button', `jp-mod-styled ${className}`, label);
      node.type = 'button';
      node.addEventListener('click', run);
      return node;
    };
    const isLast = index === steps.length - 1;
    const next = isLast
      ? button(trans.__('Done'), 'jp-mod-accept', () => this.end())
      : button(trans.__('Next'), 'jp-mod-accept', () => this.show(index + 1));
    const back = index > 0 ? [button(trans.__('Back'), '', () => this.show(index - 1))] : [];
    const skip = isLast ? [] : [button(trans.__('Skip'), '', () => this.end())];
    const body = element('div', '', element('h2', '', title), element('p', '', text));
    body.setAttribute('aria-live', 'polite');
    const count = element('span', 'nbtools-tour-count', trans.__('%1 of %2', String(index + 1), String(steps.length)));
    this.node!.replaceChildren(body, element('div', 'nbtools-tour-buttons', count, ...skip, ...back, next));
    next.focus();
  }

  private pointAt(targets: readonly string[]): void {
    this.target?.classList.remove(POINTED_AT);
    this.target = targets.map(selector => document.querySelector(selector)).find(node => node !== null) ?? null;
    this.target?.classList.add(POINTED_AT);
  }

  private end(): void {
    this.pointAt([]);
    this.node?.remove();
    this.node = null;
    this.before instanceof HTMLElement && this.before.focus();
    this.before = null;
  }
}

/** Offers the tour once, in a notification, after nbtools was loaded for the first time.  A question takes the notification away. */
export function offerTour(app: JupyterFrontEnd, states: IKernelStates, database: IStateDB, trans: TranslationBundle): void {
  const makeOffer = async (): Promise<void> => {
    if (!states.current.some(({ loaded }) => loaded)) {
      return;
    }
    states.changed.disconnect(makeOffer);
    if ((await database.fetch(OFFERED)) !== true) {
      await database.save(OFFERED, true);
      const offer = Notification.info(
        trans.__('New to nbtools? A tour in four steps shows calls, questions, the panel and session logs.'),
        {
          autoClose: OFFER_TIME,
          actions: [{ label: trans.__('Start the Tour'), displayType: 'accent', callback: () => void app.commands.execute(TOUR) }]
        }
      );
      const dismiss = (): void => {
        if (states.current.some(({ state }) => state?.questions.length)) {
          states.changed.disconnect(dismiss);
          Notification.dismiss(offer);
        }
      };
      states.changed.connect(dismiss);
    }
  };
  states.changed.connect(makeOffer);
}
