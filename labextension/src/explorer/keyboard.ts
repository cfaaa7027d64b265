import type { FilterBarView } from './filter_bar.js';
import { traceKey, type TraceKey, type Zone } from './keymap.js';
import type { StepList } from './list.js';
import type { ReviewView, Verdict } from './review.js';
import type { DetailPaneView } from './detail_pane.js';
import type { SamplesView } from './samples_view.js';
import type { OverviewView } from './overview.js';
import { MOVES, type Move } from '../table/places.js';

const ALL_MOVES: readonly TraceKey[] = Object.values(MOVES);
const SHIFTED: Readonly<Record<string, string>> = { ArrowDown: 'J', ArrowUp: 'K' };
const VERDICTS: Readonly<Record<string, Verdict>> = { p: 'pass', f: 'fail', d: 'defer' };

export interface KeyboardTargets {
  readonly list: StepList;
  readonly detailPane: DetailPaneView;
  readonly filters: FilterBarView;
  readonly timeline: OverviewView;
  readonly review: ReviewView | null;
  select(index: number): void;
  fold(folded: boolean): void;
  /** Goes to the next failed step, or with −1 to the previous one. */
  goToFailure(direction: 1 | -1): void;
  /** Whether the detail pane shows the selected line. */
  isStepShown(): boolean;
  /** The samples that are shown in place of the steps. */
  samples(): SamplesView | null;
}

/** Handles the keys of an explorer before they reach Jupyter's shortcuts. */
export class ExplorerKeyboard {
  private readonly listener = (event: KeyboardEvent) => this.onKey(event);

  constructor(
    private readonly node: HTMLElement,
    private readonly targets: KeyboardTargets
  ) {
    window.addEventListener('keydown', this.listener, true);
  }

  dispose(): void {
    window.removeEventListener('keydown', this.listener, true);
  }

  private onKey(event: KeyboardEvent): void {
    const target = event.composedPath()[0]; // the event's own target is the host, if the explorer is in a shadow root
    if (!(target instanceof Element) || !this.node.contains(target)) {
      return;
    }
    const samples = this.targets.samples();
    if (samples) {
      samples.onKey(event, target);
      return;
    }
    const zone = this.zone(target);
    const modified = event.ctrlKey || event.altKey || event.metaKey || (event.shiftKey && event.key === 'Enter') || event.isComposing;
    const key = event.shiftKey ? (SHIFTED[event.key] ?? event.key) : event.key;
    const action = traceKey({ key, repeat: event.repeat, modified }, zone);
    if (action === 'pass') {
      return;
    }
    event.stopImmediatePropagation();
    if (!modified && zone === 'strip' && this.targets.timeline.onKey(event)) {
      event.preventDefault();
    } else if (action !== 'native') {
      event.preventDefault();
      this.runAction(action);
    }
  }

  private zone(target: Element): Zone {
    const { list, detailPane, filters, timeline, review } = this.targets;
    const zones: [HTMLElement, Zone][] = [
      [filters.search, 'search'],
      ...(review ? [[review.noteField, 'note'] as [HTMLElement, Zone]] : []),
      [list.node, 'list'],
      [detailPane.node, 'panel'],
      [timeline.node, 'strip']
    ];
    return (
      zones.find(([node]) => node.contains(target))?.[1] ??
      (target.matches('select, textarea') ? 'menu' : target.matches('input') ? 'field' : 'control')
    );
  }

  private runAction(action: Exclude<TraceKey, 'native' | 'pass'>): void {
    const { list, detailPane, filters, review, select, fold, goToFailure, isStepShown } = this.targets;
    if (action.startsWith('label ') || action.startsWith('verdict ')) {
      return this.reviewSelection(action);
    }
    if (ALL_MOVES.includes(action)) {
      list.setRange(false);
      const index = list.target(action as Move);
      return index < 0 ? undefined : select(index);
    }
    const actions: { [A in typeof action]?: () => void } = {
      open: () => detailPane.node.focus(),
      close: () => list.node.focus(),
      replay: () => isStepShown() && detailPane.replay(),
      copy: () => isStepShown() && detailPane.copyTool(),
      search: () => filters.focus(),
      nextFailure: () => goToFailure(1),
      previousFailure: () => goToFailure(-1),
      nextHitOrNote: () => detailPane.goToHit(1) || review?.startNote(),
      previousHit: () => void detailPane.goToHit(-1),
      extendNext: () => this.extend('next'),
      extendPrevious: () => this.extend('previous'),
      saveNote: () => review?.saveNote(),
      endNote: () => review?.endNote(),
      nextUnreviewed: () => void review?.goToNext(),
      undoReview: () => review?.undo(),
      clear: () => filters.clearSearch() || list.node.focus(),
      fold: () => fold(true),
      unfold: () => fold(false),
      leave: () => (list.hasRange ? list.setRange(false) : this.node.closest<HTMLElement>('.jp-Cell')?.focus())
    };
    actions[action]?.();
  }

  private extend(move: Move): void {
    const { list, select } = this.targets;
    const index = list.target(move);
    list.setRange(true);
    index < 0 || select(index);
  }

  private reviewSelection(action: string): void {
    const [kind, key] = action.split(' ') as [string, string];
    const { review } = this.targets;
    kind === 'label' ? void review?.label(key) : review?.verdict(VERDICTS[key.toLowerCase()]!, key !== key.toLowerCase());
  }
}
