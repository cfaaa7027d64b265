import assert from 'node:assert/strict';
import { afterEach, beforeEach, mock, test } from 'node:test';
import { Client, RequestError } from '../shared/channel.js';
import { type Kernel, kernelChannel, onEvent } from '../live_cells/kernel_channel.js';
import { ModelChannel } from '../explorer/model_channel.js';
import { FORM_METHODS } from '../lab/model.js';

const CELL = { source: '%tools allow ls', reason: '' };

interface Sent {
  readonly id: number;
  readonly method: string;
  readonly params: unknown;
}

/** A signal of Lumino, as far as a channel uses it. */
class FakeSignal {
  private readonly slots = new Set<(sender: unknown, value: unknown) => void>();
  connect = (slot: (sender: unknown, value: unknown) => void, owner?: object) => this.slots.add(owner ? slot.bind(owner) : slot);
  disconnect = () => undefined;
  emit = (value: unknown) => this.slots.forEach(slot => slot(this, value));
}

class FakeComm {
  readonly sent: Sent[] = [];
  onMsg: (message: object) => void = () => undefined;
  onClose: () => void = () => undefined;
  isOpen = false;
  isDisposed = false;
  /** Resolves when the kernel has processed a message. */
  done: Promise<unknown> = Promise.resolve();

  constructor(readonly target: string) {}

  open(): void {
    this.isOpen = true;
  }

  close(): void {
    this.isDisposed = true;
  }

  dispose(): void {
    this.isDisposed = true;
  }

  send(message: Sent): { done: Promise<unknown> } {
    this.sent.push(message);
    return { done: this.done };
  }

  answer(answer: object, buffers: unknown[] = []): void {
    this.onMsg({ content: { data: { id: this.sent.at(-1)!.id, ...answer } }, buffers });
  }
}

class FakeKernel {
  readonly comms: FakeComm[] = [];
  readonly statusChanged = new FakeSignal();
  readonly disposed = new FakeSignal();
  isDisposed = false;
  handleComms = true;
  supportsSubshells = false;
  readonly info = Promise.resolve({});
  target: (comm: unknown, message: object) => void = () => undefined;

  constructor(readonly id: string) {}

  createComm(target: string): FakeComm {
    this.comms.push(new FakeComm(target));
    return this.comms.at(-1)!;
  }

  registerCommTarget(name: string, target: FakeKernel['target']): void {
    assert.equal(name, 'nbtools');
    this.target = target;
  }

  get comm(): FakeComm {
    return this.comms.at(-1)!;
  }
}

let kernels = 0;

/** A kernel and a client of the methods of forms. */
function connect(id = `kernel ${++kernels}`) {
  const kernel = new FakeKernel(id);
  const client = new Client(() => kernelChannel(kernel as unknown as Kernel), FORM_METHODS);
  const ask = (onWait?: (late: boolean) => void) => client.request('forms.rules', { call: 'a' }, onWait);
  return { kernel, ask };
}

/** Lets all that is due happen. */
const settle = async () => {
  for (let turn = 0; turn < 30; turn++) {
    await Promise.resolve();
  }
};

const failsWith = (reason: RequestError['reason'], message = '') => ({ name: 'Error', reason, message });

beforeEach(() => {
  mock.timers.enable({ apis: ['setTimeout'] });
  globalThis.window = { addEventListener: () => undefined, removeEventListener: () => undefined } as unknown as typeof window;
});
afterEach(() => mock.timers.reset());

test('all requests to a kernel use one comm, and answers are matched by id', async () => {
  const { kernel, ask } = connect();
  const [first, second] = [ask(), ask()];
  await settle();
  const [one, other] = kernel.comm.sent;
  assert.deepEqual(one, { id: one!.id, method: 'forms.rules', params: { call: 'a' } });
  kernel.comm.onMsg({ content: { data: { id: other!.id, result: { ...CELL, reason: 'second' } } } });
  kernel.comm.onMsg({ content: { data: { id: one!.id, result: CELL } } });
  assert.deepEqual([(await first).reason, (await second).reason], ['', 'second']);
  assert.deepEqual([kernel.comms.length, kernel.comm.target, kernel.comm.isOpen], [1, 'nbtools', true]);
});

test('another connection to the kernel uses the channel of the one that handles comms', async () => {
  const { kernel, ask } = connect('shared');
  const first = ask();
  const other = connect('shared');
  other.kernel.handleComms = false;
  const second = other.ask();
  await settle();
  assert.deepEqual([kernel.comm.sent.length, other.kernel.comms.length], [2, 0]);
  kernel.comm.sent.forEach(({ id }) => kernel.comm.onMsg({ content: { data: { id, result: CELL } } }));
  assert.deepEqual(await first, await second);
});

test('events come over the channel and by comms that the kernel opens, which open the channel', async () => {
  const { kernel, ask } = connect();
  const cells: unknown[] = [];
  onEvent(kernel as unknown as Kernel, 'cells', params => cells.push(params));
  onEvent(kernel as unknown as Kernel, 'state', () => assert.fail('another event'));
  kernel.target(null, { content: { data: { event: 'cells', params: { id: 'a' } } } });
  await settle();
  assert.deepEqual([kernel.comms.length, kernel.comm.isOpen], [1, true]);
  kernel.comm.onMsg({ content: { data: { event: 'cells', params: { id: 'b' } } } });
  for (const data of [null, 3, {}, { event: 3 }, { event: 'unknown' }]) {
    kernel.target(null, { content: { data } });
    kernel.comm.onMsg({ content: { data } });
  }
  assert.deepEqual(cells, [{ id: 'a' }, { id: 'b' }]);
  void ask().catch(() => undefined);
  assert.equal(kernel.comms.length, 1);
});

test('a connection that handles no comms has no channel', async () => {
  const { kernel, ask } = connect();
  kernel.handleComms = false;
  await assert.rejects(ask(), failsWith('gone'));
});

test('problems, unknown targets and answers of another version have different reasons', async () => {
  const { kernel, ask } = connect();
  for (const [answer, reason, message] of [
    [{ problem: 'No such call.' }, 'problem', 'No such call.'],
    [{ gone: true }, 'gone', ''],
    [{ result: { source: 3 } }, 'invalid', ''],
    [{ result: null }, 'invalid', ''],
    [{ more: 1 }, 'invalid', '']
  ] as const) {
    const request = ask();
    await settle();
    kernel.comm.answer(answer);
    await assert.rejects(request, failsWith(reason, message));
  }
});

test('binary data arrives with the result, each in a buffer of its own', async () => {
  const { kernel, ask } = connect();
  const request = ask();
  await settle();
  const bytes = new Uint8Array([9, 1, 2, 3]);
  kernel.comm.answer({ result: CELL }, [new DataView(bytes.buffer, 1, 3), bytes.buffer]);
  const { buffers } = (await request) as unknown as { buffers: ArrayBuffer[] };
  assert.deepEqual(
    buffers.map(buffer => [...new Uint8Array(buffer)]),
    [
      [1, 2, 3],
      [9, 1, 2, 3]
    ]
  );
});

test('a busy kernel is reported after a second, and waited for', async () => {
  const { kernel, ask } = connect();
  const notices: boolean[] = [];
  const request = ask(late => notices.push(late));
  kernel.comm.done = new Promise(() => undefined);
  await settle();
  mock.timers.tick(999);
  assert.deepEqual(notices, []);
  mock.timers.tick(100_000);
  assert.deepEqual(notices, [true]);
  kernel.comm.answer({ result: CELL });
  assert.equal((await request).source, CELL.source);
  assert.deepEqual(notices, [true, false]);
});

test('a kernel that has processed the message must answer within ten seconds; a late answer is ignored', async () => {
  const { kernel, ask } = connect();
  const request = ask();
  await settle();
  mock.timers.tick(10_000);
  await assert.rejects(request, failsWith('gone'));
  kernel.comm.answer({ result: CELL });
});

test('a result that takes longer is waited for, and the kernel is not reported as busy', async () => {
  const { kernel, ask } = connect();
  const notices: boolean[] = [];
  const request = ask(late => notices.push(late));
  await settle();
  kernel.comm.answer({ pending: true });
  mock.timers.tick(60_000);
  assert.deepEqual(notices, [false]);
  kernel.comm.answer({ result: CELL });
  assert.equal((await request).source, CELL.source);
});

test('a kernel without nbtools closes the comm; the next request opens another one', async () => {
  const { kernel, ask } = connect();
  const request = ask();
  await settle();
  kernel.comm.onClose();
  await assert.rejects(request, failsWith('gone'));
  const retry = ask();
  await settle();
  assert.equal(kernel.comms.length, 2);
  kernel.comm.answer({ result: CELL });
  assert.equal((await retry).source, CELL.source);
});

for (const status of ['restarting', 'autorestarting', 'dead']) {
  test(`requests to a kernel that is ${status} fail`, async () => {
    const { kernel, ask } = connect();
    const request = ask();
    await settle();
    kernel.comm.answer({ pending: true });
    kernel.statusChanged.emit(status);
    await assert.rejects(request, failsWith('gone'));
    void ask().catch(() => undefined);
    assert.equal(kernel.comms.length, 2);
  });
}

test('requests over a connection that is closed fail', async () => {
  const { kernel, ask } = connect();
  const request = ask();
  await settle();
  kernel.disposed.emit(undefined);
  await assert.rejects(request, failsWith('gone'));
});

test('a message that is not sent fails', async () => {
  const { kernel, ask } = connect();
  const request = ask();
  kernel.comm.done = Promise.reject(new Error('Canceled future'));
  await assert.rejects(request, failsWith('gone'));
});

test('a widget sends the same messages, and takes no notice of those of other pages', async () => {
  const sent: Sent[] = [];
  let listener: (message: unknown, buffers: DataView[]) => void = () => undefined;
  const model = {
    on: (_: string, callback: typeof listener) => (listener = callback),
    off: () => undefined,
    send: (message: Sent) => sent.push(message)
  };
  const channel = new ModelChannel(model as never);
  const client = new Client(() => channel, FORM_METHODS);
  const request = client.request('forms.rules', { call: 'a' });
  await settle();
  mock.timers.tick(60_000);
  const id = sent[0]!.id;
  listener({ id: id + 1, result: { ...CELL, reason: 'of another page' } }, []);
  listener(null, []);
  listener({ id, result: CELL }, [new DataView(new ArrayBuffer(2))]);
  const { reason, buffers } = (await request) as unknown as { reason: string; buffers: ArrayBuffer[] };
  assert.deepEqual([sent[0]!.method, reason, buffers[0]!.byteLength], ['forms.rules', '', 2]);
});
