import { Clipboard } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import type { ICardServices } from '../shared/tokens.js';
import { cardContext } from '../cards/context.js';
import { element, linkButton } from '../shared/element.js';
import { locate, nameOf } from '../shared/path.js';
import { ExplorerView } from './explorer.js';
import { ExplorerLost, type ExplorerContext, type Reply, type Task } from './explorer_context.js';
import { explorerKernels } from './kernel_connection.js';
import { type LogSession, NoLogKernel } from './log_session.js';
import type { LogAddresses } from './log_address.js';
import type { LogAnswer, TraceView } from './model.js';
import type { SessionRow, SessionsView } from '../sessions/model.js';
import { SessionsListView } from '../sessions/sessions.js';
import { ComparisonInPlace } from '../comparison/in_place.js';
import type { PlaceContext } from '../comparison/context.js';
import { ComparePicker } from '../comparison/picker.js';
import type { ComparisonView } from '../comparison/model.js';

/** Milliseconds without an answer after which a new kernel is offered. */
const OFFER_AFTER = 10_000;

/** Marks the id of a listed session, where a log's path could be. */
export const SESSION_PREFIX = 'session:';

export interface LogServices extends ICardServices {
  readonly session: LogSession;
  readonly trans: TranslationBundle;
  /** Why a path cannot be opened; empty if the server serves it as a file. */
  problemOf(path: string): Promise<string>;
  openLog(path: string, title?: string): void;
  /** Lets the person choose files and returns their paths, else null.  Null if the application has no dialog for it. */
  readonly choose: ((title: string, least: number, most: number) => Promise<string[] | null>) | null;
  compareLogs(paths: readonly string[]): void;
  /** Null where the application is not JupyterLab. */
  readonly addresses: LogAddresses | null;
  /** Adds a cell to a notebook that the person chooses. */
  addCell(log: string, source: string, run: boolean): void;
}

/** The content of a log's tab: the explorer of one log, or the comparison of several. */
export class LogView extends Widget {
  private explorer: ExplorerView | null = null;
  private comparison: ComparisonInPlace | null = null;
  private picker: ComparePicker | null = null;
  private sessions: SessionsListView | null = null;
  private traceView: TraceView | null = null;
  /** The request to open the logs that is not answered yet, with its step. */
  private opening: { readonly step: string } | null = null;
  /** The step to begin at, when the log is opened next. */
  private step = '';

  /** `paths` are paths of the contents API; `onPaths` is called with others when the explorer has gone on in another file. */
  constructor(
    private paths: readonly string[],
    private readonly services: LogServices,
    private readonly onPaths: (paths: readonly string[]) => void
  ) {
    super();
    this.addClass('nbtools-rendered');
    this.addClass('nbtools-log');
    services.session.acquire();
    void this.open();
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this.disposeExplorer();
      this.services.session.release();
    }
    super.dispose();
  }

  /** Opens the log again, at this step. */
  openAt(step: string): void {
    this.step = step;
    void this.open();
  }

  private get trans(): TranslationBundle {
    return this.services.trans;
  }

  private async open(): Promise<void> {
    if (this.opening) {
      return;
    }
    const opening = (this.opening = { step: this.step });
    this.step = '';
    this.explorer ?? this.showMessage(this.openingMessage());
    const offer = window.setTimeout(() => this.explorer ?? this.offerNewKernel(), OFFER_AFTER);
    const answer = await this.answer(opening.step).catch((error: unknown) =>
      problem(error instanceof NoLogKernel ? error.message : this.trans.__('The server does not answer.'))
    );
    window.clearTimeout(offer);
    if (!this.isDisposed && this.opening === opening) {
      this.opening = null;
      this.draw(answer);
      this.step && void this.open(); // it was requested in the meantime
    }
  }

  private async answer(step: string): Promise<LogAnswer> {
    const problems = (await Promise.all(this.paths.map(path => this.services.problemOf(path)))).filter(Boolean);
    return problems.length ? problem(problems.join(' ')) : this.services.session.open(this.paths, step);
  }

  private openingMessage(): string {
    return this.trans.__('Opening %1…', this.paths.map(nameOf).join(', '));
  }

  private offerNewKernel(): void {
    const { trans } = this;
    const restart = linkButton(
      trans.__('Use a new kernel'),
      () => this.openInNewKernel(),
      trans.__('Ends the kernel of all log tabs, and opens the logs in a new one')
    );
    this.showMessage(`${this.openingMessage()} ${trans.__('The kernel has not answered for %1 seconds.', OFFER_AFTER / 1000)}`, restart);
  }

  private openInNewKernel(): void {
    this.step ||= this.opening?.step ?? '';
    this.opening = null;
    this.services.session.restart();
    void this.open();
  }

  private draw({ view, sessions, comparison, problem: text }: LogAnswer): void {
    if (view) {
      this.drawExplorer(view);
    } else if (sessions) {
      this.drawSessions(sessions);
    } else if (comparison) {
      this.drawComparison(comparison);
    } else {
      this.showMessage(
        text,
        linkButton(this.trans.__('Try again'), () => void this.open())
      );
    }
  }

  private drawExplorer(view: TraceView): void {
    this.traceView = view;
    if (this.explorer !== null) {
      void this.explorer.reopen(view);
      return;
    }
    this.explorer = new ExplorerView(this.explorerContext());
    this.node.replaceChildren(this.explorer.node);
    this.explorer.update(view);
  }

  private drawSessions(view: SessionsView): void {
    const { services, trans } = this;
    const path = ({ id }: SessionRow) => `${SESSION_PREFIX}${id}`;
    this.disposeExplorer();
    this.sessions = new SessionsListView(
      {
        trans,
        recovery: trans.__('The kernel had ended; the list is being opened again.'),
        query: task => this.query(task, view.explorer),
        open: session => services.openLog(path(session), session.title),
        compare: selected => services.compareLogs(selected.map(path))
      },
      view
    );
    this.node.replaceChildren(this.sessions.node);
  }

  private drawComparison(view: ComparisonView): void {
    this.disposeExplorer();
    this.comparison = new ComparisonInPlace(this.place(), view);
    const links = this.paths.map((path, i) =>
      linkButton(
        `${view.runs[i]?.name ?? ''}: ${path.startsWith(SESSION_PREFIX) ? (view.runs[i]?.title ?? '') : path}`,
        () => this.services.openLog(path),
        this.trans.__('Open this log')
      )
    );
    this.node.replaceChildren(element('nav', 'nbtools-log-links', ...links), this.comparison.node);
  }

  /** What explorers in place of a comparison use. */
  private place(): PlaceContext {
    const context = this.explorerContext();
    return {
      trans: this.trans,
      recovery: context.recovery,
      query: (explorer, task) => this.query(task, explorer),
      explorer: query => ({ ...context, query, compare: null })
    };
  }

  /** Lets the person choose sessions, or files, and compares them with this log in a tab. */
  private pickSessions(): void {
    const { services, paths, trans } = this;
    const { choose } = services;
    const compare = (others: readonly string[]) => services.compareLogs([...paths, ...others]);
    this.picker?.dispose();
    this.picker = new ComparePicker(this.place(), this.traceView!.explorer, this.explorer!, {
      compare: sessions => compare(sessions.map(({ id }) => `${SESSION_PREFIX}${id}`)),
      files:
        choose &&
        (() => {
          void choose(trans.__('Compare With'), 1, 19).then(others => others && compare(others));
        })
    });
  }

  private showMessage(text: string, ...more: Node[]): void {
    this.disposeExplorer();
    const message = element('div', 'nbtools-log-message', element('p', '', text), ...more);
    message.setAttribute('role', 'status');
    this.node.replaceChildren(message);
  }

  private disposeExplorer(): void {
    this.picker?.dispose();
    this.explorer?.dispose();
    this.comparison?.dispose();
    this.sessions?.dispose();
    this.explorer = this.comparison = this.sessions = this.picker = null;
  }

  private explorerContext(): ExplorerContext {
    const { services, trans } = this;
    const path = () => this.paths[0] ?? '';
    const { opener } = services;
    return {
      ...cardContext(services, trans, () => null), // recorded paths may be of another time or machine
      recovery: trans.__('The kernel had ended; the log is being opened again.'),
      query: task => this.query(task),
      addCell: (source, run) => services.addCell(path(), source, run),
      compare: () => this.pickSessions(),
      onContinue: name => {
        if (!path().startsWith(SESSION_PREFIX)) {
          this.paths = [path().replace(/[^/]*$/, () => name)];
          this.onPaths(this.paths);
        }
      },
      openRelative: relative => {
        const inside = !relative.startsWith('/') && !relative.split('/').includes('..');
        void (inside && opener?.open(relative, null));
        return inside && opener !== null;
      },
      linkTo: ({ place, number }) => services.addresses?.of(locate('', '', place), number) ?? Promise.resolve(null),
      copy: async text => Clipboard.copyToSystem(text)
    };
  }

  /** Sends a request.  If the kernel has lost the explorer, the log is opened again. */
  private async query(task: Task, explorer = this.traceView?.explorer ?? ''): Promise<Reply> {
    const { session } = this.services;
    try {
      return await explorerKernels.request(await session.kernel(), explorer, task, () => undefined);
    } catch (error) {
      if (error instanceof NoLogKernel || error instanceof ExplorerLost) {
        void this.open();
        throw new ExplorerLost();
      }
      throw error;
    }
  }
}

function problem(text: string): LogAnswer {
  return { view: null, sessions: null, comparison: null, problem: text };
}
