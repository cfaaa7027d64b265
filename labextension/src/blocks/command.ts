import { element } from '../element.js';
import { drawSpans } from '../spans.js';
import type { CommandBlock, CommandPart } from '../wire.js';
import type { BlockView } from './block.js';

/** A command line, one simple command a row, each with what is worth knowing of it. */
export class CommandView implements BlockView<CommandBlock> {
  readonly node = element('div', 'nbtools-command');

  update(block: CommandBlock): void {
    this.node.replaceChildren(...block.parts.map(drawPart));
  }
}

function drawPart(part: CommandPart): HTMLElement {
  const code = element('code', '', ...(part.operator ? [`${part.operator} `] : []), ...drawSpans(part.spans));
  const row = element('div', 'nbtools-part', code);
  if (part.note) {
    row.append(element('span', part.warning ? 'nbtools-warning' : 'nbtools-quiet', (part.warning ? '⚠ ' : '') + part.note));
  }
  return row;
}
