import { element, focusedIn, linkButton, setText } from '../shared/element.js';
import { ChangesView } from './changes_view.js';
import { DetailPaneView } from './detail_pane.js';
import type { ExplorerContext } from './explorer_context.js';
import { isFiltering, NO_FILTER, sameFilter, toggleFold, type TraceFilter } from './filter.js';
import { FilterBarView } from './filter_bar.js';
import { Following, type FollowReply } from './following.js';
import { HeaderView, type TraceAction } from './header.js';
import { ExplorerKeyboard } from './keyboard.js';
import { LineMoves } from './line_moves.js';
import { createList, visibleLines, type StepList } from './list.js';
import { nextFailure, unknownChips } from './listing.js';
import { columnsOf, Loading, type RowsReply } from './loading.js';
import type { TraceOpened, TraceView } from './model.js';
import { NewSteps } from './new_steps.js';
import { OverviewView } from './overview.js';
import { loadSamples } from './load_samples.js';
import { failureMessage, LogRequests, RequestFailed } from './requests.js';
import { ReviewView } from './review.js';
import { SavedFiltersPanel } from './saved_filters.js';
import { SharePanel } from './share_panel.js';
import { hitsIn, INITIAL_STATE, isIndexing, isSearchPending, reduce, selectedRow, type Action, type ExplorerState } from './state.js';
import { StepLoader } from './step_loader.js';
import type { SamplesView } from './samples_view.js';
import { ListedLines } from './timeline_bars.js';

/** The explorer of a session log: header, timeline, filters, list of steps and detail pane.  It must be inside `.nbtools-rendered`. */
export class ExplorerView {
  readonly node = element('article', 'nbtools-trace');
  private state = INITIAL_STATE;
  private readonly requests: LogRequests;
  private readonly loading: Loading;
  /** Null in a shared file. */
  private readonly following: Following | null;
  private readonly header: HeaderView;
  private readonly timeline: OverviewView;
  private readonly filters: FilterBarView;
  private readonly list: StepList;
  private readonly newSteps: NewSteps;
  private readonly detailPane: DetailPaneView;
  private readonly changes: ChangesView;
  private readonly stepLoader: StepLoader;
  /** Null in a shared file. */
  private readonly review: ReviewView | null;
  private readonly keyboard: ExplorerKeyboard;
  private readonly sharePanel: SharePanel;
  /** The samples of an evaluation, while they are shown in place of the steps. */
  private samples: SamplesView | null = null;
  private readonly savedFilters: SavedFiltersPanel;
  private readonly notice = element('div', 'nbtools-trace-notice');
  private readonly side = element('div', 'nbtools-trace-side');
  private readonly main = element('div', 'nbtools-trace-main');
  private readonly emptyText = element('span');
  private readonly clearLink: HTMLElement;
  private readonly emptyMessage: HTMLElement;
  private actionRunning = false;

  constructor(private readonly context: ExplorerContext) {
    const { trans } = context;
    const state = () => this.state;
    const changeFilter = (change: Partial<TraceFilter>) => this.changeFilter(change);
    const onlyWith = (change: Partial<TraceFilter>) => changeFilter({ ...NO_FILTER, folded: this.state.filter.folded, ...change });
    const goToStep = (line: number) => this.goToLine(line, true);
    const goToFailure = (direction: 1 | -1) => this.goToFailure(direction);
    const select = (index: number) => this.selectRow(index);
    this.requests = new LogRequests(context, lost => {
      this.showNotice(lost ? context.recovery : '');
      lost || void this.loading.load();
    });
    this.loading = new Loading(this.requests, {
      dispatch: action => this.dispatch(action),
      state,
      onOutdated: () => this.following?.catchUp()
    });
    this.following = context.isFile
      ? null
      : new Following(
          this.node,
          trans,
          this.requests,
          state,
          (reply, log) => this.takeOver(reply, log),
          () => this.look()
        );
    this.header = new HeaderView(
      context,
      this.following ? [this.following.button, this.following.offer] : [],
      action => void this.runAction(action),
      goToStep,
      () => void this.showChanges(),
      () => void this.showSamples()
    );
    this.timeline = new OverviewView(context, this.requests, {
      goToLine: line => this.goNearLine(line),
      goToStep,
      selectRange: range => changeFilter(range ?? { first: null, last: null }),
      filter: onlyWith,
      order: order => changeFilter({ order }),
      goToFailure
    });
    this.filters = new FilterBarView(trans, { change: changeFilter, clear: () => onlyWith({}) });
    this.list = createList(trans, state, {
      select,
      fold: line => changeFilter(toggleFold(this.state.filter, line)),
      settled: () => this.loadExcerpts()
    });
    this.newSteps = new NewSteps(this.list, trans);
    this.detailPane = new DetailPaneView(context, this.requests, {
      goToLine: goToStep,
      filterByPath: path => changeFilter({ ...NO_FILTER, chips: [`path:${path}`] })
    });
    this.changes = new ChangesView(trans, {
      openFile: path => void this.openFile(path),
      goToLine: goToStep,
      close: () => this.dispatch({ type: 'changes', shown: false })
    });
    this.stepLoader = new StepLoader(this.requests, this.detailPane, trans);
    this.review = context.isFile ? null : this.createReview();
    this.keyboard = new ExplorerKeyboard(this.node, {
      review: this.review,
      list: this.list,
      detailPane: this.detailPane,
      filters: this.filters,
      timeline: this.timeline,
      select,
      fold: folded => this.foldSelected(folded),
      goToFailure,
      isStepShown: () => this.stepLoader.isStepShown,
      samples: () => this.samples
    });
    const wrote = (path: string) => this.showNotice(trans.__('Wrote %1.', path));
    this.sharePanel = new SharePanel(trans, this.requests, wrote, () => this.focus());
    this.savedFilters = new SavedFiltersPanel(trans, this.requests, {
      current: () => this.state.filter,
      apply: ({ text, chips, order }) => changeFilter({ ...NO_FILTER, text, chips, order })
    });
    this.clearLink = linkButton(trans.__('Clear filters'), () => onlyWith({}));
    this.emptyMessage = element('div', 'nbtools-trace-nothing', this.emptyText, this.clearLink);
    this.build();
  }

  /**
   * Shows a view.  An update of the same explorer preserves scroll position, selection and open step.
   * `rows` is the answer to the request for the first rows, if it was sent already.
   */
  update(view: TraceView, rows: RowsReply | null = null): void {
    void this.open(view, rows);
  }

  /** Shows a view; resolves when all rows are loaded, or cannot be. */
  private open(view: TraceView, rows: RowsReply | null): Promise<void> {
    const isSame = this.state.view?.explorer === view.explorer;
    this.requests.explorer = view.explorer;
    this.dispatch({ type: isSame ? 'view' : 'open', view });
    if (!isSame) {
      this.closeSamples();
      this.stepLoader.reset();
      this.following?.start(view.fresh);
      view.search && this.applyFilter({ ...NO_FILTER, text: view.search });
    }
    const loaded = this.loading.load(rows);
    if (!isSame && view.step !== null) {
      this.goToLine(view.step, false);
    } else if (!isSame && this.state.rows.total > 0) {
      this.stepLoader.select(0); // shown, but not selected in the list
    }
    // The kernel looks for signals, which takes long, after it has added up what the person may choose now.
    this.review &&
      void loaded
        .then(() => this.timeline.prefetch())
        .then(() => this.review?.start())
        .then(() => this.loading.facets());
    return loaded;
  }

  focus(): void {
    this.list.node.focus({ preventScroll: true });
  }

  /** Selects the step with a number, if there is one, and removes the filter if that excludes it. */
  showStep(number: string): void {
    const line = this.state.rows.lineOf(number);
    line === null || this.goToLine(line, true);
  }

  /** Shows a log that was opened again: at the view's step, with its search, or with the filter and the step that the person had chosen. */
  reopen(view: TraceView): void {
    const { filter, typed, selected } = this.state;
    const loaded = this.open(view, null);
    if (view.step === null && !view.search) {
      this.applyFilter({ ...filter, text: typed });
      const select = () => selected === null || this.state.selected !== null || this.goToLine(selected, false);
      filter.chips.length ? void loaded.then(select) : select(); // the rows say which lines have the chips
    }
  }

  dispose(): void {
    this.requests.close();
    this.stepLoader.stop();
    this.samples?.dispose();
    [
      this.header,
      this.loading,
      this.following,
      this.keyboard,
      this.list,
      this.detailPane,
      this.timeline,
      this.filters,
      this.review
    ].forEach(part => part?.dispose());
  }

  private createReview(): ReviewView {
    const show = (marks: ExplorerState['marks']) => this.dispatch({ type: 'marks', marks });
    return new ReviewView(this.context.trans, this.requests, {
      target: () => {
        const [first, last] = this.list.range?.map(index => this.list.keyAt(index)) ?? [];
        return first == null || last == null
          ? null
          : { line: first, last: first === last ? null : last, span: this.detailPane.selectedText };
      },
      goToLine: line => this.goToLine(line, true),
      changed: marks => {
        show(marks);
        void this.loading.facets();
      },
      moved: show,
      version: () => this.state.version,
      leave: () => this.list.node.focus(),
      several: this.context.review ?? null
    });
  }

  private build(): void {
    const { trans } = this.context;
    this.notice.setAttribute('role', 'status');
    this.emptyMessage.hidden = true;
    this.side.append(this.list.node, this.emptyMessage, this.newSteps.node, this.changes.node);
    this.main.append(this.side, element('div', 'nbtools-trace-pane', this.timeline.panel.node, this.detailPane.node));
    this.node.setAttribute('aria-label', trans.__('Agent session log'));
    this.timeline.place(this.filters.status, this.review ? [this.savedFilters.toggle, this.review.toggle] : []);
    this.node.append(
      this.header.node,
      this.timeline.node,
      this.timeline.bar,
      this.filters.node,
      ...(this.review ? [this.review.node] : []),
      this.savedFilters.node,
      this.sharePanel.node,
      this.notice,
      this.main
    );
  }

  private dispatch(action: Action): void {
    const before = this.state;
    this.state = reduce(before, action);
    this.state === before || this.draw(before);
  }

  /** Draws what differs from the state before. */
  private draw(before: ExplorerState): void {
    const { state } = this;
    const has = (...names: (keyof ExplorerState)[]) => names.some(name => state[name] !== before[name]);
    const { view, filter, listed } = state;
    if (view && has('view')) {
      state.moves !== before.moves && focusedIn(this.header.node) ? this.header.updateFacts(view) : this.header.update(view);
      this.timeline.update(view.bars, !(state.moves !== before.moves && state.moves?.isIdentity));
    }
    has('view') && this.samples && void this.updateSamples();
    has('hasChanges') && this.drawChanges();
    if (has('listed')) {
      this.node.style.setProperty('--nbtools-lines', String(Math.min(state.rows.total, 100)));
      this.drawList(before);
    } else if (has('rows', 'marks', 'excerpts', 'newLines', 'shown')) {
      this.list.redraw();
    }
    if (has('listed', 'filter', 'hits')) {
      this.drawFilter();
    }
    if (has('selected', 'filter')) {
      const { first, last } = filter;
      this.timeline.mark(state.selected, first === null || last === null ? null : { first, last });
    }
    if (has('excerpts', 'listed')) {
      this.detailPane.mark(selectedRow(state) === null ? [] : hitsIn(state, state.selected), this.stepLoader.isStepShown);
    }
    has('hits') && this.loadExcerpts();
    has('newLines', 'listed') && this.newSteps.update(state);
    this.emptyMessage.hidden = listed.lines.length > 0;
    setText(this.notice, state.notice);
  }

  /** Shows the lines that are listed now, and marks the selected one where its row has changed. */
  private drawList(before: ExplorerState): void {
    const { state, list } = this;
    const { lines } = state.listed;
    const sorted = state.shown.order !== '';
    list.node.classList.toggle('nbtools-trace-sorted', sorted);
    let margin: number | undefined;
    if (state.view?.explorer !== before.view?.explorer) {
      list.activate(null);
      list.show(lines);
    } else if (state.moves !== before.moves) {
      list.replace(lines, { moved: line => state.moves!.of(line), sorted });
    } else if (state.shown !== before.shown) {
      const onlyFolds = sameFilter({ ...state.shown, folded: [] }, { ...before.shown, folded: [] });
      margin = onlyFolds ? 0 : undefined;
      list.activate(null);
      list.show(lines, onlyFolds);
    } else {
      list.replace(lines, { sorted: true }); // rows, hits and facets of the same lines may come anywhere, so it does not follow its end
    }
    const row = selectedRow(state);
    row === list.active || list.activate(row, margin);
  }

  private drawFilter(): void {
    const { state } = this;
    const { listed, shown, rows } = state;
    const { trans } = this.context;
    const filtered = isFiltering(shown);
    const searching = isIndexing(state);
    const count = listed.lines.length;
    const readSoFar = String(Math.floor(state.hits?.indexed ?? 100));
    const matchCount = filtered ? trans.__('%1 of %2', count.toLocaleString(), rows.total.toLocaleString()) : '';
    const hitCount = searching
      ? trans._n('%2 hit in the %3 % read so far', '%2 hits in the %3 % read so far', count, count.toLocaleString(), readSoFar)
      : '';
    this.timeline.showListed(filtered ? new ListedLines(listed.lines, rows.total, line => rows.toneAt(line)) : null);
    this.filters.show(state.filter, state.offered, rows.total, searching ? '' : matchCount, hitCount);
    this.node.setAttribute('aria-busy', String(isSearchPending(state)));
    const nothing = searching
      ? trans.__('Still reading the log: no hit in the first %1 %.', readSoFar)
      : trans.__('No steps match the filters.');
    setText(this.emptyText, filtered ? nothing : trans.__('This log contains no messages and no tool calls.'));
    this.clearLink.hidden = !filtered;
    this.savedFilters.onFilter();
    this.timeline.showOrder(state.filter.order, order => rows.hasAmounts(order));
  }

  private drawChanges(): void {
    const { hasChanges } = this.state;
    this.list.node.hidden = hasChanges;
    hasChanges || this.changes.hide();
    hasChanges || this.list.measure();
  }

  /** Takes over what was written to the log. */
  private async takeOver(reply: FollowReply, log: string): Promise<void> {
    const view = reply.view!;
    if (view.explorer !== this.state.view?.explorer) {
      return; // the log was opened again
    }
    const moves = new LineMoves(reply.moves, view.total, reply.restarted);
    const columns = columnsOf(reply.block, reply.buffers);
    const rows = columns ? null : await this.loading.reloaded(reply.version);
    const { changed, chips, first_chip: known } = reply;
    log && this.focus(); // the button that was clicked goes
    this.dispatch({ type: 'grow', view, moves, changed, rows, columns, chips, known });
    this.stepLoader.move(moves, changed);
    this.review?.move(moves);
    this.loading.onGrowth();
    log && this.context.onContinue?.(log);
  }

  /** Counts the visible rows as looked at.  Called at each interval. */
  private look(): void {
    this.state.newLines.size && this.dispatch({ type: 'look', lines: visibleLines(this.list) });
    this.newSteps.update(this.state);
  }

  private loadExcerpts(): void {
    const { selected, hits } = this.state;
    hits && void this.loading.excerpts([...(selected === null ? [] : [selected]), ...visibleLines(this.list)]);
  }

  private changeFilter(change: Partial<TraceFilter>): void {
    this.applyFilter({ ...this.state.filter, ...change });
  }

  /** Changes the filter.  The list waits only for a text, which the kernel searches for, and at first for facets that do not follow from the rows. */
  private applyFilter(filter: TraceFilter, isComplete = this.state.facets.length > 0): void {
    const { trans } = this.context;
    const [unknown, names] = unknownChips(this.state, filter.chips);
    if (unknown.length && !isComplete) {
      void this.loading.facets().then(isLoaded => isLoaded && this.applyFilter(filter, true));
      return;
    }
    if (unknown.length) {
      this.showNotice(trans.__('Unknown filter: %1. Available: %2.', unknown[0]!, names.join(', ')));
      return;
    }
    this.dispatch({ type: 'filter', change: filter });
    isSearchPending(this.state) && void this.loading.search();
    this.state.facets.length > 0 && void this.loading.facets(); // a plug-in's may have changed
  }

  /** Selects a line of the log.  With `exactly`, the filter is removed if it excludes the line; otherwise the nearest line is selected. */
  private goToLine(line: number, exactly: boolean): void {
    this.closeSamples();
    const { listed } = this.state;
    const near = listed.lines[listed.indexOf(line)];
    if (exactly && near !== line) {
      this.applyFilter(NO_FILTER);
      this.select(line);
    } else if (near !== undefined) {
      this.select(near, 6);
    }
  }

  /** Selects a line, or the nearest one that matches the filter.  If the line is outside the selected range, the range is removed. */
  private goNearLine(line: number): void {
    const { first, last } = this.state.filter;
    if (first !== null && last !== null && (line < first || line > last)) {
      this.changeFilter({ first: null, last: null });
    }
    this.goToLine(line, false);
  }

  /** Selects the next failed line that the filter lists, or with −1 the previous one. */
  private goToFailure(direction: 1 | -1): void {
    const { trans } = this.context;
    const line = nextFailure(this.state, this.state.shown, this.state.selected ?? -1, direction);
    if (line !== null) {
      this.goToLine(line, false);
    } else {
      this.showNotice(
        direction > 0 ? trans.__('No listed step after this one failed.') : trans.__('No listed step before this one failed.')
      );
    }
  }

  private selectRow(index: number): void {
    const line = this.list.keyAt(index);
    line === null || this.select(line);
  }

  /** Selects a line, and opens it. */
  private select(line: number, margin?: number): void {
    this.dispatch({ type: 'select', line });
    this.list.activate(selectedRow(this.state), margin);
    const row = this.state.rows.row(line);
    row && this.context.onStep?.(row.number);
    this.stepLoader.select(line);
    this.detailPane.mark(hitsIn(this.state, line), this.stepLoader.isStepShown);
    this.loadExcerpts();
    this.review?.onSelect();
  }

  private foldSelected(folded: boolean): void {
    const { listed, rows, filter } = this.state;
    const index = this.list.active;
    const row = rows.row(listed.lines[index ?? -1] ?? -1);
    if (index === null || row === null) {
      return;
    }
    if (row.below && filter.folded.includes(row.line) !== folded) {
      this.changeFilter(toggleFold(filter, row.line));
    } else {
      const next = folded ? listed.parent(index) : row.below ? index + 1 : null;
      next === null || this.selectRow(next);
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
    } else if (action === 'share' || action === 'export') {
      this.sharePanel.toggle(action);
    } else {
      this.actionRunning = true;
      await this.tryTo(async () =>
        action === 'notebook' ? this.writeNotebook() : this.context.addCell?.((await this.requests.ask('trace.cell', {})).source, false)
      );
      this.actionRunning = false;
    }
  }

  private async writeNotebook(): Promise<void> {
    const { path, place } = await this.requests.ask('trace.notebook', {});
    const { trans } = this.context;
    this.showNotice(
      this.context.openRelative === null || (place && this.context.openRelative(place))
        ? trans.__('Wrote %1.', path)
        : trans.__('Wrote %1. It cannot be opened here: it is outside the folder that Jupyter serves.', path)
    );
  }

  /** Lists the changed files in place of the steps, and shows the first file's diff. */
  private async showChanges(): Promise<void> {
    this.closeSamples();
    await this.tryTo(async () => {
      const changes = await this.requests.ask('trace.changes', {});
      this.changes.show(changes);
      this.dispatch({ type: 'changes', shown: true });
      this.changes.focus();
      changes.files[0] && (await this.openFile(changes.files[0].path));
    });
  }

  /** Lists the samples of an evaluation in place of the steps, or the steps again. */
  private async showSamples(): Promise<void> {
    if (this.samples) {
      this.closeSamples();
      return;
    }
    const { trans } = this.context;
    await this.tryTo(async () => {
      const { SamplesView } = await loadSamples().catch(() => {
        throw new RequestFailed(trans.__('The explorer could not be loaded. Try again, or reload the page.'));
      });
      const reply = await this.requests.ask('trace.samples', {});
      this.closeSamples();
      this.samples = new SamplesView(
        trans,
        {
          load: sample => this.requests.ask('trace.sample', { sample }),
          show: opened => this.showSample(opened),
          goToLine: line => {
            this.goToLine(line, true);
            this.focus();
          },
          close: () => {
            this.closeSamples();
            this.focus();
          }
        },
        reply
      );
      this.main.before(this.samples.node);
      this.showSteps(false);
      this.samples.focus();
    });
  }

  private showSample(opened: TraceOpened | string): void {
    this.stepLoader.stop();
    this.stepLoader.forget();
    typeof opened === 'string' ? this.detailPane.showMessage(opened) : this.detailPane.show(opened);
  }

  private async updateSamples(): Promise<void> {
    await this.tryTo(async () => this.samples?.update(await this.requests.ask('trace.samples', {})));
  }

  /** Lists the steps again, and shows the selected one. */
  private closeSamples(): void {
    if (this.samples) {
      const { selected } = this.state;
      this.samples.dispose();
      this.samples = null;
      this.showSteps(true);
      this.stepLoader.select(selected ?? 0);
    }
  }

  /** Shows or hides everything that is about steps; the detail pane stays. */
  private showSteps(shown: boolean): void {
    const { timeline, filters, review, savedFilters, side, main } = this;
    const nodes = [
      timeline.node,
      timeline.bar,
      timeline.panel.node,
      filters.node,
      savedFilters.node,
      side,
      ...(review ? [review.node] : [])
    ];
    nodes.forEach(node => (node.style.display = shown ? '' : 'none'));
    main.style.gridTemplateColumns = shown ? '' : '100%';
  }

  private async openFile(path: string): Promise<void> {
    await this.tryTo(async () => {
      const opened = await this.requests.ask('trace.file_diff', { path });
      this.stepLoader.stop();
      this.stepLoader.forget();
      this.detailPane.show(opened);
      this.changes.mark(path);
    });
  }

  /** Does what needs the kernel, and says why that fails. */
  private async tryTo(act: () => Promise<unknown>): Promise<void> {
    this.showNotice('');
    try {
      await act();
    } catch (error) {
      this.showNotice(failureMessage(error));
    }
  }

  /** Shows a notice until the person's next action; an empty text removes it. */
  private showNotice(text: string): void {
    this.dispatch({ type: 'notice', text });
  }
}
