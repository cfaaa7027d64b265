import { element } from '../../shared/element.js';
import type { CardContext } from '../../shared/tokens.js';
import type { ListingBlock } from '../model.js';
import { placeLink, scrollBox, type BlockView } from './block.js';
import { extent, Preview } from './preview.js';

type Entry = ListingBlock['entries'][number];

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

/** Files and folders with their sizes, or a tree of them. */
export class ListingView implements BlockView<ListingBlock> {
  readonly node = element('div', 'nbtools-listing');
  private readonly box: HTMLElement;
  private readonly preview: Preview;
  private block: ListingBlock | null = null;

  constructor(private readonly context: CardContext) {
    this.box = scrollBox('nbtools-entries', context.trans.__('Files'));
    this.preview = new Preview(context, this.box, () => this.draw(this.block!));
    this.node.append(this.box, this.preview.node);
  }

  update(block: ListingBlock): void {
    this.block = block;
    this.draw(block);
  }

  private draw({ entries, more }: ListingBlock): void {
    const shown = this.preview.shown(entries.length);
    const isTree = entries.some(entry => entry.branch);
    this.box.hidden = entries.length === 0;
    this.box.replaceChildren(...entries.slice(0, shown).map(entry => this.drawEntry(entry, isTree)));
    const counts = [shown, entries.length].map(count => count.toLocaleString());
    const sentence = shown < entries.length ? this.context.trans.__('%1 of %2 entries', ...counts) : '';
    this.preview.update(shown, entries.length, entries.length, extent(this.context, shown, sentence, more));
  }

  private drawEntry(entry: Entry, isTree: boolean): HTMLElement {
    const label = entryName(entry);
    const name = entry.folder || !entry.path ? element('span', 'nbtools-folder', label) : placeLink(this.context, label, entry.path, null);
    const size = entry.size === null ? '' : formatBytes(entry.size);
    const before = isTree ? element('span', 'nbtools-branch', entry.branch) : element('span', 'nbtools-number', size);
    const note = entry.note ? [element('span', 'nbtools-quiet', entry.note)] : [];
    return element('div', 'nbtools-entry', before, name, ...note);
  }
}

/** What a listing shows of an entry: its path; in a tree only the last part. */
function entryName({ path, branch, folder }: Entry): string {
  const whole = path.replace(/\/+$/, '');
  return `${branch ? whole.slice(whole.lastIndexOf('/') + 1) : whole}${folder ? '/' : ''}`;
}
