import { element, setText } from '../shared/element.js';
import type { CardContext } from '../shared/tokens.js';
import { TextView } from '../cards/blocks/text.js';
import type { RunMessage } from './model.js';

/** The text of a model as it is streamed.  Thinking is collapsed behind a summary line. */
export class RunMessageView {
  readonly node = element('div', 'nbtools-run-said');
  private readonly text: TextView;
  private readonly thought = element('summary', 'nbtools-run-thought');

  constructor(context: CardContext, thinking: boolean) {
    this.text = new TextView(context);
    this.node.append(thinking ? element('details', '', this.thought, this.text.node) : this.text.node);
  }

  update(part: RunMessage): void {
    setText(this.thought, part.thought);
    this.text.update(part.block);
  }
}
