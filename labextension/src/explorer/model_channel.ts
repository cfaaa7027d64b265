import type { AnyModel } from '@anywidget/types';
import { MessageExchange } from '../shared/channel.js';

/**
 * Calls methods with the custom messages of a widget.
 *
 * A widget does not learn that its kernel has ended, nor when the kernel has processed a message: a request then stays open, and the kernel is
 * reported as busy.
 */
export class ModelChannel extends MessageExchange {
  private readonly listener = (message: unknown, buffers: DataView[]) => void this.receive(message, buffers);

  constructor(private readonly model: AnyModel) {
    super();
    model.on('msg:custom', this.listener);
  }

  dispose(): void {
    this.model.off('msg:custom', this.listener);
  }

  protected send(message: object): Promise<unknown> {
    this.model.send(message);
    return new Promise(() => undefined);
  }
}
