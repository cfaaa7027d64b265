import type { TranslationBundle } from '@jupyterlab/translation';
import { RequestFailed, type LogRequests } from './requests.js';
import { keyHint } from './keymap.js';
import type { DetailPaneView } from './detail_pane.js';
import type { LineMoves } from './line_moves.js';

/** Milliseconds for which a line must be selected before it is loaded, so that repeating keys do not load every line. */
const SELECT_DELAY = 60;
/** Milliseconds after which the detail pane is marked as busy. */
const BUSY_AFTER = 150;

/** Loads the selected line and shows it in the detail pane.  Answers for lines that are no longer selected are dropped. */
export class StepLoader {
  private selectedLine: number | null = null;
  private shownLine: number | null = null;
  /** The selected line, if it could not be loaded. */
  private failedLine: number | null = null;
  private loadTimer = 0;
  private busyTimer = 0;

  constructor(
    private readonly requests: LogRequests,
    private readonly detailPane: DetailPaneView,
    private readonly trans: TranslationBundle
  ) {}

  select(line: number): void {
    if (line === this.selectedLine) {
      return;
    }
    this.stop();
    this.selectedLine = line;
    this.failedLine = null;
    this.loadTimer = window.setTimeout(() => void this.open(line), this.shownLine === null ? 0 : SELECT_DELAY);
    this.busyTimer = window.setTimeout(() => this.detailPane.setBusy(true), BUSY_AFTER);
  }

  /** Whether the detail pane shows the selected line. */
  get isStepShown(): boolean {
    return this.selectedLine !== null && this.shownLine === this.selectedLine;
  }

  /** Takes over where the log's lines are now.  A step that has changed is loaded again, and one whose links lead to lines that have moved. */
  move(moves: LineMoves, changed: readonly number[]): void {
    const line = this.selectedLine ?? this.failedLine;
    if (line === null) {
      return;
    }
    const to = moves.of(line);
    const failed = this.selectedLine === null;
    this.selectedLine = to;
    this.shownLine = this.shownLine === line ? to : null;
    if (failed || !moves.isIdentity || to !== line || changed.includes(to)) {
      this.stop();
      const { scrollTop } = this.detailPane.node;
      void this.open(to).then(() => (this.detailPane.node.scrollTop = scrollTop));
    }
  }

  reset(): void {
    this.stop();
    this.selectedLine = this.shownLine = this.failedLine = null;
    this.detailPane.showMessage(this.trans.__('Select a step to see its details.'), keyHint(this.trans));
  }

  /** The detail pane shows something else: the next selected step is loaded, even if it was the last one. */
  forget(): void {
    this.selectedLine = this.shownLine = this.failedLine = null;
  }

  stop(): void {
    window.clearTimeout(this.loadTimer);
    window.clearTimeout(this.busyTimer);
  }

  private async open(line: number): Promise<void> {
    try {
      const opened = await this.requests.ask('trace.open', { line });
      this.showIfSelected(line, () => this.detailPane.show(opened));
      this.shownLine = this.selectedLine === line ? line : this.shownLine;
    } catch (error) {
      if (!(error instanceof RequestFailed)) {
        throw error;
      }
      this.showIfSelected(line, () => this.detailPane.showMessage(error.message));
      if (this.selectedLine === line) {
        this.selectedLine = null;
        this.failedLine = line;
      }
    }
  }

  private showIfSelected(line: number, draw: () => void): void {
    if (line === this.selectedLine) {
      window.clearTimeout(this.busyTimer);
      draw();
    }
  }
}
