import { element } from '../../shared/element.js';
import { drawSpans } from '../highlighting.js';
import type { CardContext } from '../../shared/tokens.js';
import type { MatchesBlock } from '../model.js';
import { setNumberWidth, moreLine, placeLink, scrollBox, type BlockView } from './block.js';

type Group = MatchesBlock['groups'][number];
type Hit = Group['lines'][number];

/** Search matches, grouped by file.  The Tab key goes from file to file, the arrow keys from line to line. */
export class MatchesView implements BlockView<MatchesBlock> {
  readonly node = element('div', 'nbtools-matches');
  private readonly box: HTMLElement;

  constructor(private readonly context: CardContext) {
    this.box = scrollBox('', context.trans.__('Matches'));
    this.box.addEventListener('keydown', event => moveFocus(this.box, event));
    this.node.append(this.box);
  }

  update(block: MatchesBlock): void {
    setNumberWidth(this.box, Math.max(0, ...block.groups.flatMap(group => group.lines.map(line => line.number))));
    this.box.replaceChildren(...block.groups.map(group => this.drawGroup(group)));
    const more = moreLine(block.more);
    this.node.replaceChildren(this.box, ...(more ? [more] : []));
  }

  private drawGroup(group: Group): HTMLElement {
    const name = placeLink(this.context, `${group.path} ${group.part}`.trim(), group.path, null, group.cell);
    const rows = group.lines.flatMap((hit, i) => this.drawHit(group, hit, group.lines[i - 1]));
    return element('div', 'nbtools-group', element('div', 'nbtools-path', name), ...rows);
  }

  private drawHit(group: Group, hit: Hit, before: Hit | undefined): HTMLElement[] {
    const number = placeLink(this.context, String(hit.number), group.path, hit.number, group.cell);
    number.tabIndex = -1;
    number.classList.add('nbtools-number');
    const row = element('div', 'nbtools-hit', number, element('code', '', ...drawSpans(hit.spans)));
    row.classList.toggle('nbtools-context', hit.context);
    const skipped = before !== undefined && hit.number > before.number + 1 && group.lines.some(line => line.context);
    return skipped ? [element('div', 'nbtools-skipped', '⋯'), row] : [row];
  }
}

function moveFocus(box: HTMLElement, event: KeyboardEvent): void {
  const links = [...box.querySelectorAll<HTMLElement>('.nbtools-link')];
  const here = links.indexOf(document.activeElement as HTMLElement);
  const offset = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const next = offset === undefined || here < 0 ? undefined : links[here + offset];
  if (next) {
    event.preventDefault();
    event.stopPropagation();
    next.focus();
  }
}
