import { element } from '../element.js';
import { icon } from '../icons.js';
import type { Surroundings } from '../tokens.js';
import type { ListingBlock } from '../wire.js';
import { moreLine, placeLink, scrollBox, type BlockView } from './block.js';

type Entry = ListingBlock['entries'][number];

const SHORT = 30;

/** Bytes in the unit that a person would say. */
export function sayBytes(size: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let unit = 0;
  let value = size;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** Files and folders; short names stand in columns. */
export class ListingView implements BlockView<ListingBlock> {
  readonly node = element('div', 'nbtools-listing');
  private readonly box: HTMLElement;

  constructor(private readonly around: Surroundings) {
    this.box = scrollBox('nbtools-entries', around.trans.__('Files'));
    this.node.append(this.box);
  }

  update(block: ListingBlock): void {
    this.box.classList.toggle('nbtools-columns', block.entries.every(entry => entry.path.length <= SHORT));
    this.box.replaceChildren(...block.entries.map(entry => this.drawEntry(entry)));
    const more = moreLine(block.more);
    this.node.replaceChildren(this.box, ...(more ? [more] : []));
  }

  private drawEntry(entry: Entry): HTMLElement {
    const name = entry.folder
      ? element('span', 'nbtools-folder', entry.path.endsWith('/') ? entry.path : `${entry.path}/`)
      : placeLink(this.around, entry.path, entry.path, null);
    const size = element('span', 'nbtools-quiet', entry.size === null ? '' : sayBytes(entry.size));
    return element('div', 'nbtools-entry', icon(entry.folder ? 'folder' : 'file'), name, size);
  }
}
