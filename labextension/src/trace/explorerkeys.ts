import type { FiltersView } from './filters.js';
import { traceKey, type Move, type TraceKey, type Zone } from './keymap.js';
import type { ListView } from './list.js';
import type { PanelView } from './panel.js';
import type { StripView } from './strip.js';

const MOVES: readonly TraceKey[] = ['next', 'previous', 'pageDown', 'pageUp', 'first', 'last'];

export interface Keyed {
  readonly list: ListView;
  readonly panel: PanelView;
  readonly filters: FiltersView;
  readonly strip: StripView;
  select(index: number): void;
  fold(folded: boolean): void;
  /** Whether the panel shows the chosen line. */
  settled(): boolean;
}

/** Hands the keys inside an explorer to its parts, before Jupyter's own shortcuts would take them for the notebook. */
export class ExplorerKeys {
  private readonly listener = (event: KeyboardEvent) => this.onKey(event);

  constructor(
    private readonly node: HTMLElement,
    private readonly parts: Keyed
  ) {
    window.addEventListener('keydown', this.listener, true);
  }

  dispose(): void {
    window.removeEventListener('keydown', this.listener, true);
  }

  private onKey(event: KeyboardEvent): void {
    const target = event.target as Node;
    if (!(target instanceof Element) || !this.node.contains(target)) {
      return;
    }
    const zone = this.zone(target);
    const modified = event.ctrlKey || event.altKey || event.metaKey || (event.shiftKey && event.key === 'Enter') || event.isComposing;
    const action = traceKey({ key: event.key, repeat: event.repeat, modified }, zone);
    if (action === 'pass') {
      return;
    }
    event.stopImmediatePropagation();
    if (!modified && zone === 'strip' && this.parts.strip.onKey(event)) {
      event.preventDefault();
    } else if (action !== 'native') {
      event.preventDefault();
      this.act(action);
    }
  }

  private zone(target: Element): Zone {
    const { list, panel, filters, strip } = this.parts;
    const zones: [HTMLElement, Zone][] = [[filters.search, 'search'], [list.node, 'list'], [panel.node, 'panel'], [strip.node, 'strip']];
    return zones.find(([node]) => node.contains(target))?.[1] ?? (target.matches('select') ? 'menu' : 'control');
  }

  private act(action: Exclude<TraceKey, 'native' | 'pass'>): void {
    const { list, panel, filters, select, fold, settled } = this.parts;
    if (MOVES.includes(action)) {
      const index = list.target(action as Move);
      return index < 0 ? undefined : select(index);
    }
    const acts: { [A in typeof action]?: () => void } = {
      open: () => panel.node.focus(),
      close: () => list.node.focus(),
      again: () => settled() && panel.runAgain(),
      copy: () => settled() && panel.copyTool(),
      search: () => filters.focus(),
      clear: () => filters.empty() || list.node.focus(),
      fold: () => fold(true),
      unfold: () => fold(false),
      leave: () => this.node.closest<HTMLElement>('.jp-Cell')?.focus()
    };
    acts[action]?.();
  }
}
