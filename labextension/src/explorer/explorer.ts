import { element, focusedIn, linkButton, setText } from '../shared/element.js';
import type { ExplorerContext } from './explorer_context.js';
import { PageRequests, failureMessage } from './page_requests.js';
import { ExplorerKeyboard } from './keyboard.js';
import { chooseChip, NO_FILTER, toggleFold, isFiltering, listsEverything, sameFilter } from './filter.js';
import { FilterBarView } from './filter_bar.js';
import { Following } from './following.js';
import { HeaderView, type TraceAction } from './header.js';
import { LineMoves } from './line_moves.js';
import { ListView, type ListPlaces } from './list.js';
import { NewSteps } from './new_steps.js';
import { ReviewView } from './review.js';
import { hitsOf } from './search_marks.js';
import { StepLoader } from './step_loader.js';
import { PAGE_SIZE, PageCache } from './page_cache.js';
import { ChangesView } from './changes_view.js';
import { DetailPaneView } from './detail_pane.js';
import { UsagePanelView } from './usage_panel.js';
import { OverviewView } from './overview.js';
import { SavedFiltersPanel } from './saved_filters.js';
import { SharePanel } from './share_panel.js';
import type { TraceFilter, TraceFollow, TraceMark, TracePage, TraceView } from './model.js';

/** Milliseconds between requests for the visible pages while the kernel is indexing the log. */
const REFRESH_INTERVAL = 250;

/** The explorer of a session log: header, timeline, filters, list of steps and detail pane.  It must be inside `.nbtools-rendered`. */
export class ExplorerView {
  readonly node = element('article', 'nbtools-trace');
  private readonly requests: PageRequests;
  private readonly header: HeaderView;
  private readonly timeline: OverviewView;
  private readonly filters: FilterBarView;
  private readonly list: ListView;
  private readonly detailPane: DetailPaneView;
  private readonly changes: ChangesView;
  private readonly stepLoader: StepLoader;
  private readonly keyboard: ExplorerKeyboard;
  /** Null in a shared file. */
  private readonly review: ReviewView | null;
  private readonly sharePanel: SharePanel;
  /** Null in a shared file. */
  private readonly following: Following | null;
  private readonly newSteps: NewSteps;
  private readonly savedFilters: SavedFiltersPanel;
  private readonly samples: UsagePanelView;
  private readonly notice = element('div', 'nbtools-trace-notice');
  private readonly emptyMessage = element('div', 'nbtools-trace-nothing');
  private view: TraceView | null = null;
  private pages: PageCache | null = null;
  /** The filter of the listed lines, and the filter requested last. */
  private shownFilter = NO_FILTER;
  private requestedFilter = NO_FILTER;
  /** The filter that the person chose last, also if its request has failed. */
  private chosenFilter = NO_FILTER;
  /** The selected line of the log; the filter may exclude it. */
  private selectedLine: number | null = null;
  private refreshTimer = 0;
  private actionRunning = false;
  private isTakingOver = false;

  constructor(private readonly context: ExplorerContext) {
    const { trans } = context;
    const changeFilter = (change: Partial<TraceFilter>) => void this.applyFilter({ ...this.requestedFilter, ...change });
    const clearFilter = () => changeFilter({ ...NO_FILTER, folded: this.requestedFilter.folded });
    const goNear = (line: number) => void this.goNearLine(line);
    const goToFailure = (direction: 1 | -1) => void this.goToFailure(direction);
    this.requests = new PageRequests(context, lost => this.showNotice(lost ? context.recovery : ''));
    this.following = context.isFile
      ? null
      : new Following(
          this.node,
          trans,
          this.requests,
          (reply, log) => this.takeOver(reply, log),
          () => this.newSteps.look()
        );
    this.header = new HeaderView(
      context,
      this.following ? [this.following.button, this.following.offer] : [],
      action => void this.runAction(action),
      line => void this.goToLine(line, true),
      () => void this.showChanges(),
      () => void this.showSamples()
    );
    this.timeline = new OverviewView(context, this.requests, {
      goToLine: goNear,
      goToStep: line => void this.goToLine(line, true),
      selectRange: range => changeFilter(range ?? { first: null, last: null }),
      filter: change => changeFilter({ ...NO_FILTER, folded: this.requestedFilter.folded, ...change }),
      order: order => changeFilter({ order }),
      goToFailure
    });
    this.filters = new FilterBarView(trans, { change: changeFilter, clear: clearFilter });
    this.list = new ListView(trans, {
      select: index => void this.select(index),
      fold: ({ line }) => changeFilter(toggleFold(this.requestedFilter, line))
    });
    this.newSteps = new NewSteps(this.list, trans, this.requests, () => this.shownFilter);
    this.detailPane = new DetailPaneView(context, this.requests, {
      goToLine: line => void this.goToLine(line, true),
      filterByPath: path => changeFilter({ ...NO_FILTER, chips: [`path:${path}`] })
    });
    this.changes = new ChangesView(trans, {
      openFile: path => void this.openFile(path),
      goToLine: line => void this.goToLine(line, true),
      close: () => this.hideChanges()
    });
    this.stepLoader = new StepLoader(this.requests, this.detailPane, trans);
    this.review = context.isFile ? null : this.createReview();
    this.keyboard = new ExplorerKeyboard(this.node, {
      review: this.review,
      list: this.list,
      detailPane: this.detailPane,
      filters: this.filters,
      timeline: this.timeline,
      select: index => void this.select(index),
      fold: folded => this.foldSelected(folded),
      goToFailure,
      isStepShown: () => this.stepLoader.isStepShown
    });
    this.sharePanel = new SharePanel(trans, this.requests, path => this.showNotice(trans.__('Wrote %1.', path)));
    this.samples = new UsagePanelView(
      trans,
      { goToLine: line => void this.goToLine(line, true), filter: changeFilter, loadPrices: () => undefined },
      trans.__('Samples')
    );
    this.savedFilters = new SavedFiltersPanel(trans, this.requests, {
      current: () => this.requestedFilter,
      apply: ({ text, chips, order }) => changeFilter({ ...NO_FILTER, text, chips, order })
    });
    this.build(clearFilter);
  }

  /** Shows a view.  An update of the same explorer preserves scroll position, selection and open step. */
  update(view: TraceView): void {
    const sameExplorer = this.view?.explorer === view.explorer;
    this.view = view;
    this.header.update(view);
    this.timeline.update(view.bars, true);
    this.node.style.setProperty('--nbtools-lines', String(Math.min(view.page.total, 100)));
    sameExplorer ? this.showFilter() : this.showView(view);
    // The kernel looks for signals, which takes long, after it has added up what the person may choose now.
    this.review && void this.timeline.prefetch().then(() => this.review?.start());
  }

  /** Shows what was reviewed.  If the list is filtered by it, it is fetched again. */
  private showMarks(marks: ReadonlyMap<number, readonly TraceMark[]>): void {
    this.list.setMarks(marks);
    const { shownFilter: filter } = this;
    if (filter.chips.some(chip => /^(review|signal):/.test(chip))) {
      void this.fetchFiltered(filter).catch(error => this.showNotice(failureMessage(error)));
    } else {
      this.pages?.refreshFacets();
    }
  }

  focus(): void {
    this.list.node.focus();
  }

  /** Selects a line of the log, and removes the filter if that excludes it. */
  showLine(line: number): void {
    void this.goToLine(line, true);
  }

  /** Shows a log that was opened again: at the view's step, or with the filter and the step that the person had chosen. */
  async reopen(view: TraceView): Promise<void> {
    const { chosenFilter, selectedLine } = this;
    this.update(view);
    if (view.step !== null) {
      return;
    }
    await this.applyFilter(chosenFilter);
    selectedLine === null || (await this.goToLine(selectedLine, false));
  }

  dispose(): void {
    window.clearTimeout(this.refreshTimer);
    this.pages?.close();
    this.stepLoader.stop();
    this.following?.dispose();
    [this.keyboard, this.list, this.detailPane, this.timeline, this.filters, this.review].forEach(part => part?.dispose());
  }

  private createReview(): ReviewView {
    return new ReviewView(this.context.trans, this.requests, {
      target: () => {
        const [first, last] = this.list.selectedLines ?? [];
        return first && last ? { line: first.line, last: first === last ? null : last.line, span: this.detailPane.selectedText } : null;
      },
      goToLine: line => void this.goToLine(line, true),
      changed: marks => this.showMarks(marks),
      moved: marks => this.list.setMarks(marks),
      version: () => this.following?.version ?? 0,
      leave: () => this.list.node.focus()
    });
  }

  private build(clearFilter: () => void): void {
    const { trans } = this.context;
    this.notice.setAttribute('role', 'status');
    this.emptyMessage.hidden = true;
    this.emptyMessage.append(element('span'), linkButton(trans.__('Clear filters'), clearFilter));
    const side = element('div', 'nbtools-trace-side', this.list.node, this.emptyMessage, this.newSteps.node, this.changes.node);
    const main = element('div', 'nbtools-trace-main', side, this.detailPane.node);
    this.node.setAttribute('aria-label', trans.__('Agent session log'));
    this.review && this.filters.node.append(this.savedFilters.toggle, this.review.toggle);
    this.node.append(
      this.header.node,
      this.timeline.node,
      this.timeline.bar,
      this.timeline.panel.node,
      this.filters.node,
      ...(this.review ? [this.review.node] : []),
      this.samples.node,
      this.savedFilters.node,
      this.sharePanel.node,
      this.notice,
      main
    );
  }

  private showView(view: TraceView): void {
    this.shownFilter = this.requestedFilter = this.chosenFilter = NO_FILTER;
    this.selectedLine = null;
    this.stepLoader.reset();
    this.newSteps.clear();
    this.list.mark(null);
    this.showPages(view.page, false);
    this.following?.start(view);
    if (view.step !== null) {
      void this.goToLine(view.step, false);
    } else if (view.page.total > 0) {
      this.stepLoader.select(0); // shown, but not selected in the list
    }
  }

  /** Takes over what was written to the log.  Until its lines are loaded, everything stays as it is, and means the shorter log. */
  private async takeOver(reply: TraceFollow, log: string): Promise<void> {
    const moves = new LineMoves(reply.moves, reply.view!.page.total, reply.restarted);
    this.isTakingOver = true;
    try {
      const filter = moves.ofFilter(this.shownFilter);
      const pages = this.createPages(await this.requests.page(filter, 0, PAGE_SIZE), filter);
      const places = await this.placesIn(pages, filter, moves);
      log && this.focus(); // the button that was clicked goes
      this.commit(reply, moves, filter);
      this.list.replace(this.replacePages(pages), places, filter);
    } finally {
      this.isTakingOver = false;
    }
    this.showFilter();
    log && this.context.onContinue?.(log);
    if (this.requestedFilter !== this.shownFilter) {
      await this.loadFilter(this.requestedFilter); // its answer was for the shorter log
    }
  }

  /** Loads the lines that are in view and selected, and returns where they are in `pages`. */
  private async placesIn(pages: PageCache, filter: TraceFilter, moves: LineMoves): Promise<ListPlaces> {
    const { list } = this;
    const find = async (line: number | null) => {
      const to = line === null ? null : moves.of(line);
      const index = to === null ? -1 : listsEverything(filter) ? to : await this.requests.place(filter, to);
      return (await pages.get(index))?.line === to ? index : null;
    };
    await Promise.all(list.ends.map(index => index !== null && this.pages!.get(index)));
    const { anchor, ends, endLines } = list;
    const [row, selected, rangeEnd] = await Promise.all([anchor?.line ?? null, ...endLines].map(find));
    const near = [list.firstInView + (anchor && row ? row - anchor.row : 0), pages.total - 1];
    await Promise.all(near.flatMap(index => [index, index - PAGE_SIZE / 2]).map(index => pages.get(Math.max(index, 0))));
    return list.ends.every((end, i) => end === ends[i]) // else the person has selected something in the meantime
      ? { shift: anchor && typeof row === 'number' ? row - anchor.row : 0, selected: selected ?? null, rangeEnd: rangeEnd ?? null }
      : this.placesIn(pages, filter, moves);
  }

  private commit(reply: TraceFollow, moves: LineMoves, filter: TraceFilter): void {
    const view = reply.view!;
    this.view = view;
    focusedIn(this.header.node) ? this.header.updateFacts(view) : this.header.update(view);
    this.timeline.update(view.bars, !moves.isIdentity);
    this.node.style.setProperty('--nbtools-lines', String(Math.min(view.page.total, 100)));
    this.selectedLine = this.selectedLine === null ? null : moves.of(this.selectedLine);
    const isListed = this.requestedFilter === this.shownFilter;
    this.chosenFilter = moves.ofFilter(this.chosenFilter);
    this.shownFilter = filter;
    this.requestedFilter = isListed ? filter : moves.ofFilter(this.requestedFilter);
    this.newSteps.add(moves);
    this.stepLoader.move(moves, reply.changed);
    this.review?.move(moves);
  }

  /** Lists the lines that match the filter, starting with the first page, which is already loaded. */
  private showPages(first: TracePage, keepScroll: boolean): PageCache {
    const { shownFilter: filter } = this;
    const pages = this.replacePages(this.createPages(first, filter));
    this.list.show(pages, filter.folded, keepScroll);
    this.showFilter();
    return pages;
  }

  private replacePages(pages: PageCache): PageCache {
    this.pages?.close();
    void this.newSteps.recount();
    return (this.pages = pages);
  }

  private createPages(first: TracePage, filter: TraceFilter): PageCache {
    const pages: PageCache = new PageCache(
      first,
      (from, count) => this.requests.page(filter, from, count),
      () => pages === this.pages && this.onPagesChanged()
    );
    return pages;
  }

  /** Changes the filter.  The current list stays until the kernel has answered; if the request fails, the previous filter is restored. */
  private async applyFilter(filter: TraceFilter): Promise<void> {
    if (sameFilter(filter, this.requestedFilter)) {
      return;
    }
    this.requestedFilter = this.chosenFilter = filter;
    this.showNotice('');
    this.showFilter();
    await this.loadFilter(filter);
  }

  private async loadFilter(filter: TraceFilter): Promise<void> {
    try {
      await this.fetchFiltered(filter);
    } catch (error) {
      if (this.requestedFilter === filter) {
        this.requestedFilter = this.shownFilter;
        this.showFilter();
        this.showNotice(failureMessage(error));
      }
    }
  }

  private async fetchFiltered(filter: TraceFilter): Promise<void> {
    const { selectedLine: line } = this;
    const [first, index] = await Promise.all([
      this.requests.page(filter, 0, PAGE_SIZE),
      line === null ? null : this.requests.place(filter, line)
    ]);
    if (this.requestedFilter !== filter || this.isTakingOver) {
      return;
    }
    const onlyFolds = sameFilter({ ...filter, folded: [] }, { ...this.shownFilter, folded: [] });
    this.shownFilter = filter;
    this.list.mark(null);
    const pages = this.showPages(first, onlyFolds);
    const row = index === null ? null : await pages.get(index);
    if (this.pages === pages && row?.line === line) {
      this.list.mark(index, onlyFolds ? 0 : undefined);
    }
    this.detailPane.mark(row?.line === line ? hitsOf(row) : [], this.stepLoader.isStepShown);
  }

  /** Selects a line of the log.  With `exactly`, the filter is removed if it excludes the line; otherwise the nearest line is selected. */
  private async goToLine(line: number, exactly: boolean): Promise<void> {
    try {
      const index = await this.indexOf(line);
      const row = await this.pages!.get(index);
      if (exactly && row?.line !== line) {
        await this.applyFilter(NO_FILTER);
        await this.select(line);
      } else {
        await this.select(index, 6);
      }
    } catch (error) {
      this.showNotice(failureMessage(error));
    }
  }

  /** Selects a line, or the nearest one that matches the filter.  If the line is outside the selected range, the range is removed. */
  private async goNearLine(line: number): Promise<void> {
    const { first, last } = this.requestedFilter;
    if (first !== null && last !== null && (line < first || line > last)) {
      await this.applyFilter({ ...this.requestedFilter, first: null, last: null });
    }
    await this.goToLine(line, false);
  }

  /** Selects the next failed line that the filter lists, or with −1 the previous one. */
  private async goToFailure(direction: 1 | -1): Promise<void> {
    const failed = { ...this.shownFilter, order: '' as const, chips: chooseChip(this.shownFilter.chips, 'end', 'end:failed') };
    const from = this.selectedLine ?? -1;
    try {
      const index = await this.requests.place(failed, direction > 0 ? from + 1 : from);
      const at = direction > 0 ? index : index - 1;
      const line = at < 0 ? undefined : (await this.requests.page(failed, at, 1)).lines[0]?.line;
      const { trans } = this.context;
      if (line === undefined) {
        this.showNotice(
          direction > 0 ? trans.__('No listed step after this one failed.') : trans.__('No listed step before this one failed.')
        );
      } else {
        await this.goToLine(line, false);
      }
    } catch (error) {
      this.showNotice(failureMessage(error));
    }
  }

  private async indexOf(line: number): Promise<number> {
    const index = listsEverything(this.shownFilter) ? line : await this.requests.place(this.shownFilter, line);
    return Math.min(index, this.pages!.total - 1);
  }

  /** Selects a row, and opens its line once it has been loaded. */
  private async select(index: number, margin?: number): Promise<void> {
    const pages = this.pages!;
    this.showNotice('');
    this.hideChanges();
    this.list.mark(index, margin);
    try {
      const row = await pages.get(index);
      if (row && this.pages === pages && this.list.selected === index) {
        this.selectedLine = row.line;
        this.context.onStep?.(row.number);
        this.stepLoader.select(row.line);
        this.detailPane.mark(hitsOf(row), this.stepLoader.isStepShown);
        this.markTimeline();
        this.review?.onSelect();
      }
    } catch (error) {
      this.showNotice(failureMessage(error));
    }
  }

  /** Runs an action on the whole log.  The source of new cells comes from the kernel, because a notebook's outputs can come from anyone. */
  private async runAction(action: TraceAction): Promise<void> {
    if (this.actionRunning) {
      return;
    }
    this.showNotice('');
    if (action === 'compare') {
      this.context.compare?.();
      return;
    }
    if (action === 'share') {
      this.sharePanel.toggle();
      return;
    }
    this.actionRunning = true;
    try {
      action === 'notebook' ? await this.writeNotebook() : this.context.addCell?.((await this.requests.cell()).source, false);
    } catch (error) {
      this.showNotice(failureMessage(error));
    } finally {
      this.actionRunning = false;
    }
  }

  private async writeNotebook(): Promise<void> {
    const { path, place } = await this.requests.story();
    const { trans } = this.context;
    this.showNotice(
      this.context.openRelative === null || (place && this.context.openRelative(place))
        ? trans.__('Wrote %1.', path)
        : trans.__('Wrote %1. It cannot be opened here: it is outside the folder that Jupyter serves.', path)
    );
  }

  /** Lists the changed files in place of the steps, and shows the first file's diff. */
  private async showChanges(): Promise<void> {
    this.showNotice('');
    try {
      const changes = await this.requests.changes();
      this.changes.show(changes);
      this.list.node.hidden = true;
      this.changes.focus();
      changes.files[0] && (await this.openFile(changes.files[0].path));
    } catch (error) {
      this.showNotice(failureMessage(error));
    }
  }

  /** Shows or hides the samples of an evaluation. */
  private async showSamples(): Promise<void> {
    const { node } = this.samples;
    node.hidden = !node.hidden;
    this.showNotice('');
    try {
      node.hidden || this.samples.update(await this.requests.samples());
      node.querySelector('button')?.focus();
    } catch (error) {
      this.showNotice(failureMessage(error));
    }
  }

  private hideChanges(): void {
    if (!this.changes.node.hidden) {
      this.changes.hide();
      this.list.node.hidden = false;
      this.list.measure();
    }
  }

  private async openFile(path: string): Promise<void> {
    this.showNotice('');
    try {
      const opened = await this.requests.fileDiff(path);
      this.stepLoader.stop();
      this.stepLoader.forget();
      this.detailPane.show(opened);
      this.changes.mark(path);
    } catch (error) {
      this.showNotice(failureMessage(error));
    }
  }

  private foldSelected(folded: boolean): void {
    const index = this.list.selected;
    const line = index === null ? null : this.pages!.line(index);
    if (index === null || line === null) {
      return;
    }
    if (line.below && this.requestedFilter.folded.includes(line.line) !== folded) {
      void this.applyFilter(toggleFold(this.requestedFilter, line.line));
    } else {
      const next = folded ? this.pages!.parent(index) : line.below ? index + 1 : null;
      next === null || void this.select(next);
    }
  }

  /** Called when a page has been loaded: the number of matches, and the row of the selected line, may have changed. */
  private onPagesChanged(): void {
    const wasIndexing = this.refreshTimer !== 0;
    this.list.redraw();
    this.showFilter();
    const { selectedLine: line, pages } = this;
    const index = this.list.selected;
    const isMarked = index === null ? !wasIndexing : (pages!.line(index)?.line ?? line) === line;
    if (line !== null && !isMarked) {
      this.markFound(pages!, line).catch(() => undefined); // a request that fails has said so
    }
  }

  /** Marks the row to which the selected line has moved, and the hits of the search in the step. */
  private async markFound(pages: PageCache, line: number): Promise<void> {
    const index = await this.indexOf(line);
    const row = await pages.get(index);
    if (this.pages === pages && this.selectedLine === line && row?.line === line) {
      this.list.mark(index);
      this.detailPane.mark(hitsOf(row), this.stepLoader.isStepShown);
    }
  }

  private showFilter(): void {
    const [view, pages] = [this.view!, this.pages!];
    const { trans } = this.context;
    const filtered = isFiltering(this.shownFilter);
    const searching = pages.indexed < 100;
    const readSoFar = String(Math.floor(pages.indexed));
    const matchCount = filtered ? trans.__('%1 of %2', pages.total.toLocaleString(), view.page.total.toLocaleString()) : '';
    this.filters.show(
      this.requestedFilter,
      pages.facets,
      view.page.total,
      searching ? '' : matchCount,
      searching
        ? trans._n(
            '%2 hit in the %3 % read so far',
            '%2 hits in the %3 % read so far',
            pages.total,
            pages.total.toLocaleString(),
            readSoFar
          )
        : ''
    );
    this.node.setAttribute('aria-busy', String(this.requestedFilter !== this.shownFilter));
    this.emptyMessage.hidden = pages.total > 0;
    setText(
      this.emptyMessage.firstElementChild as HTMLElement,
      filtered
        ? searching
          ? trans.__('Still reading the log: no hit in the first %1 %.', readSoFar)
          : trans.__('No steps match the filters.')
        : trans.__('This log contains no messages and no tool calls.')
    );
    (this.emptyMessage.lastElementChild as HTMLElement).hidden = !filtered;
    this.savedFilters.onFilter();
    this.timeline.showOrder(this.requestedFilter.order);
    this.markTimeline();
    window.clearTimeout(this.refreshTimer);
    this.refreshTimer = searching ? window.setTimeout(() => pages.refresh(), REFRESH_INTERVAL) : 0;
  }

  private markTimeline(): void {
    const { first, last } = this.requestedFilter;
    this.timeline.mark(this.selectedLine, first === null || last === null ? null : { first, last });
  }

  /** Shows a notice until the person's next action; an empty text removes it. */
  private showNotice(text: string): void {
    setText(this.notice, text);
  }
}
