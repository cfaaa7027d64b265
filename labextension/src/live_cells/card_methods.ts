import { CARD_METHODS } from '../cards/model.js';
import { Client } from '../shared/channel.js';
import { type Kernel, kernelChannel } from './kernel_channel.js';

/** Calls a kernel's methods for cards and for the cells of open notebooks. */
export function cardsOf(kernel: Kernel): Client<keyof typeof CARD_METHODS> {
  return new Client(() => kernelChannel(kernel), CARD_METHODS);
}
