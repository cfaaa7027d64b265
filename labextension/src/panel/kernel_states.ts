import type { ISessionContext } from '@jupyterlab/apputils';
import type { INotebookTracker, NotebookPanel } from '@jupyterlab/notebook';
import type { Kernel as KernelAPI } from '@jupyterlab/services';
import { Signal } from '@lumino/signaling';
import { hasComms } from '../live_cells/busy_kernel.js';
import { CLOSED_EVENT, ENDING_STATUSES, type Kernel, onEvent } from '../live_cells/kernel_channel.js';
import { RequestError } from '../shared/channel.js';
import { CHANNEL_TARGET } from '../shared/methods.js';
import type { FollowedKernel, IKernelStates, StateMethod } from '../shared/tokens.js';
import { LOADED_EVENT, STATE_EVENT, UNLOADED_EVENT } from './model.js';
import { StateConnection } from './state_connection.js';

const NO_STATE: StateMethod = () => Promise.reject(new RequestError('gone'));

/** Follows the state of the kernels of all open notebooks, and of closed ones while something waits or runs there. */
export class KernelStates implements IKernelStates {
  readonly changed = new Signal<this, void>(this);
  private readonly kernels = new Map<string, KernelEntry>();
  private readonly panels = new Map<NotebookPanel, string>();

  constructor(
    notebooks: INotebookTracker,
    private readonly manager: KernelAPI.IManager
  ) {
    notebooks.forEach(panel => this.watch(panel));
    notebooks.widgetAdded.connect((_, panel) => this.watch(panel));
  }

  get current(): readonly FollowedKernel[] {
    return [...this.kernels.values()];
  }

  request(kernel: string): StateMethod {
    return this.kernels.get(kernel)?.request ?? NO_STATE;
  }

  private watch(panel: NotebookPanel): void {
    const session = panel.sessionContext;
    // Only one connection of a page to a kernel handles comms: the one of the notebook that is opened again must be the first.
    [...this.kernels.values()].filter(({ path, panels }) => panels.length === 0 && path === panel.context.path).forEach(this.drop);
    const update = () => this.update(panel, session);
    session.kernelChanged.connect(update);
    session.connectionStatusChanged.connect((_, status) => status === 'connected' && this.kernelOf(panel)?.look());
    panel.context.pathChanged.connect(() => this.changed.emit());
    panel.disposed.connect(() => this.detach(panel));
    void session.ready.then(update);
    update();
  }

  private update(panel: NotebookPanel, session: ISessionContext): void {
    const kernel = panel.isDisposed ? null : session.session?.kernel;
    if (!kernel) {
      this.detach(panel);
      return;
    }
    if (this.panels.get(panel) !== kernel.id) {
      this.detach(panel);
      this.panels.set(panel, kernel.id);
    }
    const entry = this.kernels.get(kernel.id) ?? new KernelEntry(kernel.id, () => this.changed.emit());
    this.kernels.set(kernel.id, entry);
    entry.add(panel, kernel);
    this.changed.emit();
  }

  private detach(panel: NotebookPanel): void {
    const entry = this.kernelOf(panel);
    this.panels.delete(panel);
    if (!entry) {
      return;
    }
    const model = entry.isActive ? entry.modelOf(panel) : undefined; // the manager's list is polled, and may not have the kernel yet
    entry.remove(panel);
    if (entry.panels.length === 0 && model) {
      const kernel = this.manager.connectTo({ model, handleComms: true });
      kernel.disposed.connect(() => this.drop(entry));
      entry.keep(kernel, panel.context.path);
    } else if (entry.panels.length === 0) {
      this.drop(entry);
    }
    this.changed.emit();
  }

  private readonly drop = (entry: KernelEntry): void => {
    entry.dispose();
    this.kernels.get(entry.kernel) === entry && this.kernels.delete(entry.kernel);
    this.changed.emit();
  };

  private kernelOf(panel: NotebookPanel): KernelEntry | undefined {
    return this.kernels.get(this.panels.get(panel) ?? '');
  }
}

/** One kernel with its notebooks.  Of several connections to a kernel, JupyterLab lets only one handle comms; that one is used. */
class KernelEntry implements FollowedKernel {
  private readonly connections = new Map<NotebookPanel, Kernel>();
  private kept: Kernel | null = null;
  private keptPath = '';
  private followed: Kernel | null = null;
  private connection: StateConnection | null = null;

  constructor(
    readonly kernel: string,
    private readonly onChange: () => void
  ) {}

  get panels(): readonly NotebookPanel[] {
    return [...this.connections.keys()];
  }

  get path(): string {
    return this.panels[0]?.context.path ?? this.keptPath;
  }

  get loaded(): boolean {
    return this.connection !== null;
  }

  /** Whether something waits or runs. */
  get isActive(): boolean {
    return !!this.state && this.state.questions.length + this.state.running.length > 0;
  }

  get state(): FollowedKernel['state'] {
    return this.connection?.state ?? null;
  }

  get clockOffset(): number {
    return this.connection?.clockOffset ?? 0;
  }

  get request(): StateMethod {
    return this.connection?.request ?? NO_STATE;
  }

  /** What identifies the kernel to the server, as the connection of a notebook knows it. */
  modelOf(panel: NotebookPanel): Kernel['model'] | undefined {
    return this.connections.get(panel)?.model;
  }

  add(panel: NotebookPanel, kernel: Kernel): void {
    this.connections.set(panel, kernel);
    this.release();
    this.follow();
  }

  /** Follows the kernel of a closed notebook over a connection that only this has. */
  keep(kernel: Kernel, path: string): void {
    this.kept = kernel;
    this.keptPath = path;
    kernel.connectionStatusChanged.connect((_, status) => status === 'connected' && this.look());
    this.follow();
  }

  remove(panel: NotebookPanel): void {
    this.connections.delete(panel);
    this.follow();
  }

  /** Asks the kernel whether nbtools is loaded, unless that is known. */
  look(): void {
    const kernel = this.followed;
    if (!kernel || this.connection || kernel.connectionStatus !== 'connected') {
      return;
    }
    hasComms(kernel, CHANNEL_TARGET).then(
      loaded => loaded && this.connect(kernel),
      () => undefined // the kernel has restarted or ended
    );
  }

  dispose(): void {
    this.connections.clear();
    this.release();
    this.follow();
  }

  private release(): void {
    const kernel = this.kept;
    this.kept = null;
    if (kernel) {
      this.follow();
      kernel.dispose();
    }
  }

  private follow(): void {
    const kernels = [...this.connections.values(), ...(this.kept ? [this.kept] : [])];
    const kernel = kernels.find(candidate => candidate.handleComms && !candidate.isDisposed) ?? null;
    if (kernel === this.followed) {
      return;
    }
    this.followed?.statusChanged.disconnect(this.onStatus, this);
    this.connection?.leave();
    this.followed = kernel;
    this.disconnect();
    if (kernel) {
      kernel.statusChanged.connect(this.onStatus, this);
      onEvent(kernel, LOADED_EVENT, () => this.connect(kernel));
      onEvent(kernel, UNLOADED_EVENT, () => kernel === this.followed && this.disconnect());
      onEvent(kernel, CLOSED_EVENT, () => kernel === this.followed && this.disconnect());
      onEvent(kernel, STATE_EVENT, params => kernel === this.followed && this.connection?.show(params));
      this.look();
    }
  }

  private onStatus(_: Kernel, status: Kernel['status']): void {
    if (ENDING_STATUSES.includes(status)) {
      this.disconnect();
    }
  }

  private connect(kernel: Kernel): void {
    if (kernel !== this.followed || this.connection || kernel.isDisposed) {
      return;
    }
    const connection = new StateConnection(kernel, this.onChange, () => {
      if (this.connection === connection) {
        this.disconnect();
      }
    });
    this.connection = connection;
    this.onChange();
  }

  private disconnect(): void {
    const connection = this.connection;
    this.connection = null;
    connection && this.onChange();
  }
}
