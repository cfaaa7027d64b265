import { element, setText } from '../element.js';
import type { Surroundings } from '../tokens.js';
import { TextView } from '../blocks/text.js';
import type { RunSaid } from './wire.js';

/** What a model wrote, as it grows; what it said to itself stands folded behind one line. */
export class RunSaidView {
  readonly node = element('div', 'nbtools-run-said');
  private readonly text: TextView;
  private readonly thought = element('summary', 'nbtools-run-thought');

  constructor(around: Surroundings, thinking: boolean) {
    this.text = new TextView(around);
    this.node.append(thinking ? element('details', '', this.thought, this.text.node) : this.text.node);
  }

  update(part: RunSaid): void {
    setText(this.thought, part.thought);
    this.text.update(part.block);
  }
}
