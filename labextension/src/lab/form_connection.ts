import type { Kernel } from '@jupyterlab/services';
import { record, tryParse } from '../shared/parse.js';
import { FORMS_TARGET, parseFormAnswer, type FormAnswer, type FormRequest } from './model.js';

/** Raised when the kernel has no nbtools, ends, or its answer cannot be parsed. */
export class NoAnswer extends Error {}

const parseMessage = record<{ answer: FormAnswer }>({ answer: parseFormAnswer });

interface Pending {
  resolve(answer: FormAnswer): void;
  reject(error: NoAnswer): void;
}

/** A comm over which a form asks the kernel of its notebook.  A kernel without nbtools closes it at once. */
export class FormConnection {
  private readonly pending = new Map<number, Pending>();
  private readonly comm: Kernel.IComm;
  private lastId = 0;
  private isClosed = false;

  constructor(kernel: Kernel.IKernelConnection) {
    this.comm = kernel.createComm(FORMS_TARGET);
    this.comm.onMsg = message => this.receive(message.content.data);
    this.comm.onClose = () => this.fail();
    this.comm.open();
  }

  ask(request: Pick<FormRequest, 'verb'> & Partial<FormRequest>): Promise<FormAnswer> {
    return new Promise((resolve, reject) => {
      if (this.isClosed || this.comm.isDisposed) {
        reject(new NoAnswer());
        return;
      }
      const id = ++this.lastId;
      this.pending.set(id, { resolve, reject });
      this.comm.send({ request: { ...request, id } });
    });
  }

  close(): void {
    this.fail();
    if (!this.comm.isDisposed) {
      this.comm.close();
      this.comm.dispose();
    }
  }

  private receive(data: unknown): void {
    const answer = tryParse(parseMessage, data)?.answer;
    if (answer) {
      this.pending.get(answer.id)?.resolve(answer);
      this.pending.delete(answer.id);
    }
  }

  private fail(): void {
    this.isClosed = true;
    this.pending.forEach(({ reject }) => reject(new NoAnswer()));
    this.pending.clear();
  }
}
