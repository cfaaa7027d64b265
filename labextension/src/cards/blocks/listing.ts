import { element } from '../../shared/element.js';
import { icon } from '../../shared/icons.js';
import type { CardContext } from '../../shared/tokens.js';
import type { ListingBlock } from '../model.js';
import { moreLine, placeLink, scrollBox, type BlockView } from './block.js';

type Entry = ListingBlock['entries'][number];

const MAX_COLUMN_NAME = 30;

/** Formats a number of bytes: `812 B`, `14.2 kB`. */
export function formatBytes(size: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let unit = 0;
  let value = size;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** Files and folders; short names are arranged in columns. */
export class ListingView implements BlockView<ListingBlock> {
  readonly node = element('div', 'nbtools-listing');
  private readonly box: HTMLElement;

  constructor(private readonly context: CardContext) {
    this.box = scrollBox('nbtools-entries', context.trans.__('Files'));
    this.node.append(this.box);
  }

  update(block: ListingBlock): void {
    this.box.classList.toggle(
      'nbtools-columns',
      block.entries.every(entry => entry.path.length <= MAX_COLUMN_NAME)
    );
    this.box.replaceChildren(...block.entries.map(entry => this.drawEntry(entry)));
    const more = moreLine(block.more);
    this.node.replaceChildren(this.box, ...(more ? [more] : []));
  }

  private drawEntry(entry: Entry): HTMLElement {
    const name = entry.folder
      ? element('span', 'nbtools-folder', entry.path.endsWith('/') ? entry.path : `${entry.path}/`)
      : placeLink(this.context, entry.path, entry.path, null);
    const size = element('span', 'nbtools-quiet', entry.size === null ? '' : formatBytes(entry.size));
    return element('div', 'nbtools-entry', icon(entry.folder ? 'folder' : 'file'), name, size);
  }
}
