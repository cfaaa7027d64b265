import { Clipboard } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import type { ICardServices } from '../shared/tokens.js';
import { cardContext } from '../cards/context.js';
import { element, linkButton } from '../shared/element.js';
import { locate, nameOf } from '../shared/path.js';
import type { ExplorerContext } from './explorer_context.js';
import { type LogAnswer, type LogSession, NoLogKernel } from './log_session.js';
import type { LogAddresses } from './log_address.js';
import { SESSION } from './opened_address.js';
import type { TraceView } from './model.js';
import { kernelChannel } from '../live_cells/kernel_channel.js';
import type { SessionsView } from '../sessions/model.js';
import { type ExplorerPage, LogPages, searchStep } from '../sessions/pages.js';
import type { SessionRow } from '../sessions/session_rows.js';
import { type Channel, RequestError } from '../shared/channel.js';
import type { StackPage } from '../shared/stack.js';
import type { ComparisonView } from '../comparison/model.js';

/** Milliseconds without an answer after which a new kernel is offered. */
const OFFER_AFTER = 10_000;

export interface LogServices extends ICardServices {
  readonly session: LogSession;
  readonly trans: TranslationBundle;
  /** Why a path cannot be opened; empty if the server serves it as a file. */
  problemOf(path: string): Promise<string>;
  /** Opens a log in a tab, at a step's number, or at the first hit of a search. */
  openLog(path: string, title?: string, step?: string): void;
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
  private pages: LogPages | null = null;
  /** The explorer of the log, which is at the bottom of the pages. */
  private explorer: ExplorerPage | null = null;
  /** The request to open the logs that is not answered yet, with its step. */
  private opening: { readonly step: string } | null = null;
  /** The step to begin at, when the log is opened next. */
  private step = '';
  /** Whether what is drawn next gets the focus, which a button had that is gone. */
  private isFocusWanted = false;

  /** `paths` are paths of the contents API; `onPaths` is called with others when the explorer has gone on in another file. */
  constructor(
    private paths: readonly string[],
    private readonly services: LogServices,
    private readonly onPaths: (paths: readonly string[], label?: string) => void
  ) {
    super();
    this.addClass('nbtools-rendered');
    this.addClass('nbtools-log');
    services.session.acquire();
    void this.open();
  }

  override dispose(): void {
    if (!this.isDisposed) {
      this.disposePages();
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

  private get recovery(): string {
    return this.trans.__('The kernel had ended; the log is being opened again.');
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
    this.isFocusWanted = true;
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
      const retry = linkButton(this.trans.__('Try again'), () => {
        this.isFocusWanted = true;
        void this.open();
      });
      this.showMessage(text, retry);
      this.isFocusWanted && retry.focus();
    }
    this.isFocusWanted = false;
  }

  private drawExplorer(view: TraceView): void {
    if (this.explorer !== null) {
      this.explorer.update(view);
      return;
    }
    const { services, trans } = this;
    const { choose } = services;
    this.paths[0]?.startsWith(SESSION) && this.onPaths(this.paths, view.title); // an address does not tell it
    const compare = (others: readonly string[]) => services.compareLogs([...this.paths, ...others]);
    const chooseFiles = () => void choose?.(trans.__('Compare With'), 1, 19).then(others => others && compare(others));
    this.showPage(
      pages =>
        (this.explorer = pages.explorer(view, {
          compare: sessions => compare(sessions.map(pathOf)),
          files: choose && chooseFiles
        }))
    );
  }

  private drawSessions(view: SessionsView): void {
    const { services, trans } = this;
    this.showPage(
      pages =>
        pages.sessions(view, null, {
          open: (session, text) => services.openLog(pathOf(session), session.title, searchStep(text)),
          compare: selected => services.compareLogs(selected.map(pathOf))
        }),
      trans.__('The kernel had ended; the list is being opened again.')
    );
  }

  private drawComparison(view: ComparisonView): void {
    const openTab = (run: number) => {
      const path = this.paths[run] ?? '';
      this.services.openLog(path, path.startsWith(SESSION) ? view.runs[run]?.title : '');
    };
    this.showPage(pages => pages.comparison(view, null, openTab));
  }

  /** Shows a page at the bottom of a new stack. */
  private showPage(create: (pages: LogPages) => StackPage, recovery = this.recovery): void {
    this.disposePages();
    const context = this.explorerContext();
    const pages = new LogPages({
      trans: this.trans,
      recovery,
      channel: () => this.channel,
      explorer: () => context
    });
    this.pages = pages;
    pages.stack.push(create(pages));
    this.node.replaceChildren(pages.stack.node);
    this.isFocusWanted && pages.stack.top?.focus();
  }

  private showMessage(text: string, ...more: Node[]): void {
    this.disposePages();
    const message = element('div', 'nbtools-log-message', element('p', '', text), ...more);
    message.setAttribute('role', 'status');
    this.node.replaceChildren(message);
  }

  private disposePages(): void {
    this.pages?.dispose();
    this.pages = this.explorer = null;
  }

  private explorerContext(): ExplorerContext {
    const { services, trans } = this;
    const path = () => this.paths[0] ?? '';
    const { opener } = services;
    return {
      ...cardContext(services, trans, () => null), // recorded paths may be of another time or machine
      recovery: this.recovery,
      channel: () => this.channel,
      addCell: (source, run) => services.addCell(path(), source, run),
      compare: null,
      onContinue: name => {
        if (!path().startsWith(SESSION)) {
          this.paths = [path().replace(/[^/]*$/, () => name)];
          this.onPaths(this.paths);
        }
      },
      openRelative: relative => {
        const inside = !relative.startsWith('/') && !relative.split('/').includes('..');
        void (inside && opener?.open(relative, null));
        return inside && opener !== null;
      },
      linkTo: ({ place, session, number }) => services.addresses?.of(locate('', '', place), session, number) ?? Promise.resolve(null),
      copy: async text => Clipboard.copyToSystem(text)
    };
  }

  /** The connection with the kernel.  If the kernel has lost what a request is about, the log is opened again. */
  private readonly channel: Channel = {
    call: async (method, params) => {
      try {
        return await kernelChannel(await this.services.session.kernel()).call(method, params);
      } catch (error) {
        if (error instanceof NoLogKernel || (error instanceof RequestError && error.reason === 'gone')) {
          void this.open();
          throw new RequestError('gone');
        }
        throw error;
      }
    }
  };
}

function pathOf({ id }: SessionRow): string {
  return `${SESSION}${id}`;
}

function problem(text: string): LogAnswer {
  return { view: null, sessions: null, comparison: null, problem: text };
}
