import { element } from '../../shared/element.js';
import { drawSpans } from '../highlighting.js';
import type { CardContext } from '../../shared/tokens.js';
import type { MatchesBlock } from '../model.js';
import { setNumberWidth, placeLink, scrollBox, type BlockView } from './block.js';
import { extent, Preview } from './preview.js';

type Group = MatchesBlock['groups'][number];
type Hit = Group['lines'][number];

/** Search matches, grouped by file.  The Tab key goes from file to file, the arrow keys from line to line. */
export class MatchesView implements BlockView<MatchesBlock> {
  readonly node = element('div', 'nbtools-matches');
  private readonly box: HTMLElement;
  private readonly preview: Preview;
  private block: MatchesBlock | null = null;

  constructor(private readonly context: CardContext) {
    this.box = scrollBox('', context.trans.__('Matches'));
    this.box.addEventListener('keydown', event => moveFocus(this.box, event));
    this.preview = new Preview(context, this.box, () => this.draw(this.block!));
    this.node.append(this.box, this.preview.node);
  }

  update(block: MatchesBlock): void {
    this.block = block;
    this.draw(block);
  }

  private draw(block: MatchesBlock): void {
    const total = block.groups.reduce((sum, group) => sum + group.lines.length, 0);
    const shown = this.preview.shown(total);
    const groups = firstLines(block.groups, shown);
    setNumberWidth(this.box, Math.max(0, ...groups.flatMap(group => group.lines.map(line => line.number))));
    this.box.hidden = groups.length === 0;
    this.box.replaceChildren(...groups.map(group => this.drawGroup(group)));
    const counts = [shown, total].map(count => count.toLocaleString());
    const sentence = shown < total ? this.context.trans.__('%1 of %2 lines', ...counts) : '';
    this.preview.update(shown, total, total, extent(this.context, shown, sentence, block.more));
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

/** Returns the groups with their first `count` lines altogether. */
function firstLines(groups: readonly Group[], count: number): Group[] {
  let left = count;
  return groups.flatMap(group => {
    const lines = group.lines.slice(0, Math.max(0, left));
    left -= group.lines.length;
    return lines.length || !group.lines.length ? [{ ...group, lines }] : [];
  });
}

function moveFocus(box: HTMLElement, event: KeyboardEvent): void {
  const links = [...box.querySelectorAll<HTMLElement>('.nbtools-link')];
  const here = links.indexOf(event.target as HTMLElement);
  const offset = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const next = offset === undefined || here < 0 ? undefined : links[here + offset];
  if (next) {
    event.preventDefault();
    event.stopPropagation();
    next.focus();
  }
}
