import { element, linkButton, setText } from '../element.js';
import type { Desk } from './desk.js';
import { Enquiry, reason } from './enquiry.js';
import { ExplorerKeys } from './explorerkeys.js';
import { EVERYTHING, fold, leavesOut, listsAll, sameFilter } from './filter.js';
import { FiltersView } from './filters.js';
import { HeadlineView, type TraceAction } from './headline.js';
import { ListView } from './list.js';
import { Opener } from './opener.js';
import { PAGE, Pages } from './pages.js';
import { PanelView } from './panel.js';
import { StripView } from './strip.js';
import type { TraceFilter, TracePage, TraceView } from './wire.js';

/** Milliseconds after which a log that is still searched is asked again. */
const AGAIN = 250;

/** The log of an agent on the page: its strip, its list, and the step that is open.  It stands inside `.nbtools-rendered`. */
export class ExplorerView {
  readonly node = element('section', 'nbtools-trace');
  private readonly enquiry: Enquiry;
  private readonly head: HeadlineView;
  private readonly strip: StripView;
  private readonly filters: FiltersView;
  private readonly list: ListView;
  private readonly panel: PanelView;
  private readonly opener: Opener;
  private readonly keys: ExplorerKeys;
  private readonly notice = element('div', 'nbtools-trace-notice');
  private readonly nothing = element('div', 'nbtools-trace-nothing');
  private view: TraceView | null = null;
  private pages: Pages | null = null;
  /** The filter of what is listed, and that of what was asked for last. */
  private filter = EVERYTHING;
  private asked = EVERYTHING;
  /** The line of the log that is chosen; it may be one that the filter leaves out. */
  private line: number | null = null;
  private again = 0;
  private acting = false;

  constructor(private readonly desk: Desk) {
    const { trans } = desk;
    const narrow = (change: Partial<TraceFilter>) => void this.narrow({ ...this.asked, ...change });
    const widen = () => narrow({ ...EVERYTHING, folded: this.asked.folded });
    const jump = (line: number) => void this.jumpWithin(line);
    this.enquiry = new Enquiry(desk, gone => this.tell(gone ? trans.__('Run the cell again to search, filter and open calls.') : ''));
    this.head = new HeadlineView(desk, action => void this.act(action));
    this.strip = new StripView(trans, { jump, brush: range => narrow(range ?? { first: null, last: null }) });
    this.filters = new FiltersView(trans, { narrow, widen });
    this.list = new ListView(trans, { select: index => void this.select(index), fold: ({ line }) => narrow(fold(this.asked, line)) });
    this.panel = new PanelView(desk, this.enquiry, {
      jump: line => void this.jump(line, true),
      follow: path => narrow({ ...EVERYTHING, path })
    });
    this.opener = new Opener(this.enquiry, this.panel, trans);
    this.keys = new ExplorerKeys(this.node, {
      list: this.list,
      panel: this.panel,
      filters: this.filters,
      strip: this.strip,
      select: index => void this.select(index),
      fold: folded => this.foldChosen(folded),
      settled: () => this.opener.settled
    });
    this.build(widen);
  }

  /** The same log again keeps what is scrolled, chosen and open. */
  update(view: TraceView): void {
    const known = this.view?.explorer === view.explorer;
    this.view = view;
    this.head.update(view);
    this.strip.update(view.bars);
    this.filters.update(view);
    this.node.style.setProperty('--nbtools-lines', String(Math.min(view.page.total, 100)));
    known ? this.showFilter() : this.begin(view);
  }

  dispose(): void {
    window.clearTimeout(this.again);
    this.pages?.close();
    this.opener.stop();
    [this.keys, this.list, this.panel, this.strip, this.filters].forEach(part => part.dispose());
  }

  private build(widen: () => void): void {
    const { trans } = this.desk;
    this.notice.setAttribute('role', 'status');
    this.nothing.hidden = true;
    this.nothing.append(element('span'), linkButton(trans.__('Clear filters'), widen));
    const side = element('div', 'nbtools-trace-side', this.list.node, this.nothing);
    const main = element('div', 'nbtools-trace-main', side, this.panel.node);
    this.node.setAttribute('aria-label', trans.__('Log of an agent'));
    this.node.append(this.head.node, this.strip.node, this.filters.node, this.notice, main);
  }

  private begin(view: TraceView): void {
    this.filter = this.asked = EVERYTHING;
    this.line = null;
    this.opener.reset();
    this.list.mark(null);
    this.fill(view.page, false);
    if (view.step !== null) {
      void this.jump(view.step, false);
    }
  }

  /** Lists lines under the filter, of which the first have come. */
  private fill(first: TracePage, stay: boolean): Pages {
    const { filter } = this;
    this.pages?.close();
    this.pages = new Pages(first, (from, count) => this.enquiry.page(filter, from, count), () => this.grown());
    this.list.show(this.pages, filter.folded, stay);
    this.showFilter();
    return this.pages;
  }

  /** Changes the filter.  What is drawn stays until the kernel has answered, and for good where it does not. */
  private async narrow(filter: TraceFilter): Promise<void> {
    if (sameFilter(filter, this.asked)) {
      return;
    }
    this.asked = filter;
    this.showFilter();
    try {
      await this.relist(filter);
    } catch (error) {
      if (this.asked === filter) {
        this.asked = this.filter;
        this.showFilter();
        this.tell(reason(error));
      }
    }
  }

  private async relist(filter: TraceFilter): Promise<void> {
    const { line } = this;
    const [first, at] = await Promise.all([this.enquiry.page(filter, 0, PAGE), line === null ? null : this.enquiry.place(filter, line)]);
    if (this.asked !== filter) {
      return;
    }
    const folding = sameFilter({ ...filter, folded: [] }, { ...this.filter, folded: [] });
    this.filter = filter;
    this.list.mark(null);
    const pages = this.fill(first, folding);
    const found = at === null ? null : await pages.get(at);
    if (this.pages === pages && found?.line === line) {
      this.list.mark(at, folding ? 0 : undefined);
    }
  }

  /** Goes to a line of the log; `exactly` there, also where the filter leaves it out. */
  private async jump(line: number, exactly: boolean): Promise<void> {
    try {
      const index = await this.indexOf(line);
      const found = await this.pages!.get(index);
      if (exactly && found?.line !== line) {
        await this.narrow(EVERYTHING);
        await this.select(line);
      } else {
        await this.select(index, 6);
      }
    } catch (error) {
      this.tell(reason(error));
    }
  }

  /** Goes to a line, or to one near it that the filter leaves; outside the range that is drawn, the range goes. */
  private async jumpWithin(line: number): Promise<void> {
    const { first, last } = this.asked;
    if (first !== null && last !== null && (line < first || line > last)) {
      await this.narrow({ ...this.asked, first: null, last: null });
    }
    await this.jump(line, false);
  }

  private async indexOf(line: number): Promise<number> {
    const index = listsAll(this.filter) ? line : await this.enquiry.place(this.filter, line);
    return Math.min(index, this.pages!.total - 1);
  }

  /** Chooses a row, and opens its line once it is known. */
  private async select(index: number, margin?: number): Promise<void> {
    const pages = this.pages!;
    this.list.mark(index, margin);
    try {
      const found = await pages.get(index);
      if (found && this.pages === pages && this.list.selected === index) {
        this.line = found.line;
        this.opener.choose(found.line);
        this.markStrip();
      }
    } catch (error) {
      this.tell(reason(error));
    }
  }

  /** Does something with the whole log.  What a cell says comes from the kernel: the bundle may be from anybody's notebook. */
  private async act(action: TraceAction): Promise<void> {
    if (this.acting) {
      return;
    }
    this.acting = true;
    try {
      action === 'notebook' ? await this.write() : this.desk.addCell((await this.enquiry.cell(action)).source, false);
    } catch (error) {
      this.tell(reason(error));
    } finally {
      this.acting = false;
    }
  }

  private async write(): Promise<void> {
    const { path, place } = await this.enquiry.story();
    const { trans } = this.desk;
    this.tell(place && this.desk.openBeside(place) ? trans.__('Written: %1', path) : trans.__('Written to %1, outside the folder that Jupyter serves.', path));
  }

  private foldChosen(folded: boolean): void {
    const index = this.list.selected;
    const line = index === null ? null : this.pages!.line(index);
    if (index === null || line === null) {
      return;
    }
    if (line.below && this.asked.folded.includes(line.line) !== folded) {
      void this.narrow(fold(this.asked, line.line));
    } else {
      const next = folded ? this.pages!.parent(index) : line.below ? index + 1 : null;
      next === null || void this.select(next);
    }
  }

  /** Lines have come: more may be found, and the chosen one may stand further down now. */
  private grown(): void {
    this.list.redraw();
    this.showFilter();
    const { line, pages } = this;
    const index = this.list.selected;
    if (index !== null && line !== null && (pages!.line(index)?.line ?? line) !== line) {
      void this.indexOf(line).then(at => this.pages === pages && this.list.mark(at), () => undefined);
    }
  }

  private showFilter(): void {
    const [view, pages] = [this.view!, this.pages!];
    const { trans } = this.desk;
    const narrowed = leavesOut(this.asked);
    const searching = pages.indexed < 100;
    const found = narrowed ? trans.__('%1 of %2', pages.total.toLocaleString(), view.page.total.toLocaleString()) : '';
    this.filters.show(this.asked, found, searching ? trans.__('still indexing %1 %', Math.floor(pages.indexed)) : '');
    this.node.setAttribute('aria-busy', String(this.asked !== this.filter));
    this.nothing.hidden = pages.total > 0;
    setText(this.nothing.firstElementChild as HTMLElement, narrowed ? trans.__('Nothing matches.') : trans.__('Nothing was said or called in this log.'));
    (this.nothing.lastElementChild as HTMLElement).hidden = !narrowed;
    this.markStrip();
    window.clearTimeout(this.again);
    this.again = searching ? window.setTimeout(() => pages.refresh(), AGAIN) : 0;
  }

  private markStrip(): void {
    const { first, last } = this.asked;
    this.strip.mark(this.line, first === null || last === null ? null : { first, last });
  }

  private tell(text: string): void {
    setText(this.notice, text);
  }
}
