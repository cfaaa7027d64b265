import type { JupyterFrontEnd } from '@jupyterlab/application';
import type { Session } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';
import { type Kernel, kernelChannel } from '../live_cells/kernel_channel.js';
import { Client, type RequestError } from '../shared/channel.js';
import { LOG_METHODS, type OpenedLogs } from './model.js';

/** Path of the session, in the folder that the server serves, so that the kernel's working directory is that folder.  No file has it. */
const PATH = 'nbtools-agent-logs';
const REGISTER = 'from nbtools.notebook.traces import log_tabs; log_tabs.register()';

/** What was opened, or what is wrong. */
export type LogAnswer = OpenedLogs & { readonly problem: string };

/** The kernel cannot open logs; the message says why, and what to do. */
export class NoLogKernel extends Error {}

/** The kernel session in which log tabs open their logs.  It has no notebook; it starts with the first tab and ends with the last. */
export class LogSession {
  private session: Promise<Session.ISessionConnection> | null = null;
  /** Settles when the kernel that was used before has ended. */
  private ended: Promise<unknown> = Promise.resolve();
  private users = 0;

  constructor(
    private readonly services: JupyterFrontEnd['serviceManager'],
    private readonly trans: TranslationBundle
  ) {}

  /** Registers a user of the session. */
  acquire(): void {
    this.users++;
  }

  /** Removes a user; the last one ends the kernel. */
  release(): void {
    if (--this.users === 0 && this.session !== null) {
      this.ended = this.session.then(session => session.shutdown()).catch(() => undefined);
      this.session = null;
    }
  }

  /** Ends the running kernel, even if it does not answer, and starts another one. */
  restart(): void {
    this.session = this.end().then(() => this.start());
  }

  /** Opens one log at a step, if it is not empty, or compares several; paths are relative to the server's root folder.  Rejects with `NoLogKernel`. */
  async open(logs: readonly string[], step: string): Promise<LogAnswer> {
    const kernel = await this.kernel();
    const methods = new Client(() => kernelChannel(kernel), LOG_METHODS);
    try {
      return { ...(await methods.request('logs.open', { logs, step })), problem: '' };
    } catch (error) {
      const { reason, message } = error as RequestError;
      if (reason === 'problem') {
        return { view: null, sessions: null, comparison: null, problem: message };
      }
      throw new NoLogKernel(
        reason === 'gone'
          ? this.trans.__('The kernel ended before it had opened the log.')
          : this.trans.__('The kernel has another version of nbtools than this page.')
      );
    }
  }

  /** Returns the running kernel; starts one if there is none or it has ended.  Rejects with `NoLogKernel`, also if nobody uses it. */
  async kernel(): Promise<Kernel> {
    const { session } = this;
    const current = await session?.catch(() => null);
    if (this.users === 0) {
      throw new NoLogKernel(''); // of a tab that was closed meanwhile: nobody would end a new kernel
    }
    if (session === this.session && (!current || current.isDisposed || !current.kernel || current.kernel.status === 'dead')) {
      this.session = this.start();
    }
    return (await this.session!).kernel!;
  }

  private async end(): Promise<void> {
    const { sessions } = this.services;
    const running = await sessions.findByPath(PATH);
    running && (await sessions.shutdown(running.id));
  }

  private async start(): Promise<Session.ISessionConnection> {
    const { kernelspecs, sessions } = this.services;
    await Promise.all([kernelspecs.ready, sessions.ready, this.ended]);
    const name = pythonKernel(kernelspecs.specs);
    if (name === null) {
      throw new NoLogKernel(this.trans.__('This server has no Python kernel.'));
    }
    await sessions.refreshRunning(); // another page may have ended it
    const running = await sessions.findByPath(PATH);
    const session = running
      ? sessions.connectTo({ model: running })
      : await sessions.startNew({ path: PATH, name: this.trans.__('Agent logs'), type: 'console', kernel: { name } });
    await this.register(session.kernel!);
    return session;
  }

  private async register(kernel: Kernel): Promise<void> {
    const reply = await kernel.requestExecute({ code: REGISTER, silent: true, store_history: false, allow_stdin: false }).done;
    if (reply.content.status !== 'ok') {
      const problem = reply.content.status === 'error' ? reply.content.evalue : reply.content.status;
      throw new NoLogKernel(this.trans.__('nbtools cannot be loaded in the kernel: %1', problem));
    }
  }
}

type Specs = JupyterFrontEnd['serviceManager']['kernelspecs']['specs'];

/** Returns the name of a Python kernel: the default kernel if it is one, else the first; null if there is none. */
function pythonKernel(specs: Specs): string | null {
  const python = Object.values(specs?.kernelspecs ?? {}).filter(spec => spec?.language.toLowerCase() === 'python');
  return (python.find(spec => spec?.name === specs?.default) ?? python[0])?.name ?? null;
}
