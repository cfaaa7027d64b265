import { element } from '../../shared/element.js';
import { icon } from '../../shared/icons.js';
import { drawSpans } from '../highlighting.js';
import type { CommandBlock, CommandPart } from '../model.js';
import type { BlockView } from './block.js';

/** The operator of a command that is started by the command above it. */
const SUBCOMMAND = '↳';

/** A command line, with one row for each simple command and its note. */
export class CommandView implements BlockView<CommandBlock> {
  readonly node = element('div', 'nbtools-command');

  update(block: CommandBlock): void {
    const sandbox = block.sandbox ? [element('div', 'nbtools-sandbox', icon('shield'), block.sandbox)] : [];
    this.node.replaceChildren(...block.parts.map(drawPart), ...sandbox);
  }
}

function drawPart(part: CommandPart): HTMLElement {
  const row = element('div', part.operator === SUBCOMMAND ? 'nbtools-part nbtools-started' : 'nbtools-part');
  if (part.operator || part.spans.length) {
    row.append(element('code', '', ...(part.operator ? [`${part.operator} `] : []), ...drawSpans(part.spans)));
  }
  if (part.note) {
    row.append(element('span', part.warning ? 'nbtools-warning' : 'nbtools-quiet', (part.warning ? '⚠ ' : '') + part.note));
  }
  return row;
}
