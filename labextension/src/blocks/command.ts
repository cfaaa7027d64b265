import { element } from '../element.js';
import { icon } from '../icons.js';
import { drawSpans } from '../spans.js';
import type { CommandBlock, CommandPart } from '../wire.js';
import type { BlockView } from './block.js';

/** The operator of a command that the one above it starts. */
const STARTED = '↳';

/** A command line, one simple command a row, each with what is worth knowing of it. */
export class CommandView implements BlockView<CommandBlock> {
  readonly node = element('div', 'nbtools-command');

  update(block: CommandBlock): void {
    const sandbox = block.sandbox ? [element('div', 'nbtools-sandbox', icon('shield'), block.sandbox)] : [];
    this.node.replaceChildren(...block.parts.map(drawPart), ...sandbox);
  }
}

function drawPart(part: CommandPart): HTMLElement {
  const row = element('div', part.operator === STARTED ? 'nbtools-part nbtools-started' : 'nbtools-part');
  if (part.operator || part.spans.length) {
    row.append(element('code', '', ...(part.operator ? [`${part.operator} `] : []), ...drawSpans(part.spans)));
  }
  if (part.note) {
    row.append(element('span', part.warning ? 'nbtools-warning' : 'nbtools-quiet', (part.warning ? '⚠ ' : '') + part.note));
  }
  return row;
}
