import { type Kernel, kernelChannel } from '../live_cells/kernel_channel.js';
import { Client } from '../shared/channel.js';
import { tryParse } from '../shared/parse.js';
import type { FollowedState, StateMethod } from '../shared/tokens.js';
import { parseKernelState, STATE_METHODS, type StateOutcome } from './model.js';

const EMPTY: FollowedState = {
  folder: '',
  root: '',
  questions: [],
  running: [],
  ended: [],
  changes: [],
  rules: null,
  servers: []
};

/** Follows the state of one kernel in which nbtools is loaded.  `state` is null until the kernel has a session. */
export class StateConnection {
  state: FollowedState | null = null;
  /** Seconds by which the kernel's clock is ahead of the page's. */
  clockOffset = 0;
  private readonly methods: Client<keyof typeof STATE_METHODS>;

  /** `onEnd` is called if the kernel has no state to follow: nbtools was used there, but the extension is not loaded. */
  constructor(
    kernel: Kernel,
    private readonly onChange: () => void,
    onEnd: () => void
  ) {
    this.methods = new Client(() => kernelChannel(kernel), STATE_METHODS);
    this.methods.request('state.follow', {}).catch(onEnd);
  }

  request: StateMethod = (method, params) => this.methods.request(method, params) as Promise<StateOutcome>;

  /** Ends the updates.  A kernel that has ended needs not know. */
  leave(): void {
    this.methods.request('state.leave', {}).catch(() => undefined);
  }

  /** Joins a snapshot with the state before, and reports it when the browser has drawn it: then the kernel sends the next one. */
  show(params: unknown): void {
    const snapshot = tryParse(parseKernelState, params);
    if (snapshot === null) {
      return;
    }
    const before = this.state ?? EMPTY;
    this.clockOffset = snapshot.now - Date.now() / 1000;
    this.state = {
      folder: snapshot.folder,
      root: snapshot.root,
      questions: snapshot.questions ?? before.questions,
      running: snapshot.running ?? before.running,
      ended: snapshot.ended ?? before.ended,
      changes: snapshot.changes ?? before.changes,
      rules: snapshot.rules ?? before.rules,
      servers: snapshot.servers ?? before.servers
    };
    this.onChange();
    this.methods.request('panel.seen', { number: snapshot.number }).catch(() => undefined);
  }
}
