import type { Reply, Task } from './explorer_context.js';
import type { TraceFacet, TraceFilter, TraceLine, TraceOpened, TracePage } from './model.js';
import type { SharedLog } from './shared_model.js';
import { findTerms, searchedText, snippetOf, type Term } from './shared_search.js';

/** Answers an explorer's requests from the data of a shared file, as a kernel does from a log. */
export class SharedLogSource {
  private readonly texts: (string | undefined)[] = [];
  private lastKey = '';
  private lastLines: readonly number[] = [];

  constructor(private readonly log: SharedLog) {}

  query(task: Task): Promise<Reply> {
    return Promise.resolve(this.answer(task));
  }

  /** Returns the line with a step number, as in `#step-48.1`; null if there is none. */
  lineOf(number: string): number | null {
    const line = this.log.lines.findIndex(one => one.number === number);
    return line < 0 ? null : line;
  }

  page(filter: TraceFilter, first: number, count: number): TracePage {
    const { lines } = this.log;
    const listed = this.listed(filter);
    const terms = findTerms(filter.text);
    const shown = listed.slice(first, first + count).map(line => {
      const snippet = terms.length ? snippetOf(lines[line]!, this.text(line), terms) : [];
      return { ...lines[line]!, snippet };
    });
    const calls = listed.filter(line => lines[line]!.call).length;
    const facets = first === 0 ? this.facets(filter) : [];
    return { type: 'page', first, total: listed.length, calls, lines: shown, indexed: 100, facets };
  }

  private answer(task: Task): Reply {
    switch (task.type) {
      case 'page':
        return this.page(task.filter, task.first, task.count);
      case 'place':
        return { type: 'place', number: lowerBound(this.listed(task.filter), task.line) };
      case 'open':
        return this.log.opened[task.line] ?? { type: 'problem', text: 'This step does not exist.' };
      default:
        return { type: 'problem', text: 'A shared file does not contain this.' };
    }
  }

  private listed(filter: TraceFilter): readonly number[] {
    const key = JSON.stringify(filter);
    if (key !== this.lastKey) {
      this.lastLines = this.filtered(filter);
      this.lastKey = key;
    }
    return this.lastLines;
  }

  private filtered(filter: TraceFilter): readonly number[] {
    const folded = new Set(filter.folded.flatMap(line => nested(line, this.log.lines[line])));
    return this.matching(filter, '').filter(line => !folded.has(line));
  }

  /** Returns the lines that match a filter without its chips of the facet `except`. */
  private matching(filter: TraceFilter, except: string): readonly number[] {
    const terms = findTerms(filter.text);
    const sets = facetsOf(filter.chips, except).map(chips => this.linesOf(chips));
    return this.log.lines
      .map((_, line) => line)
      .filter(
        line =>
          sets.every(set => set.has(line)) &&
          line >= (filter.first ?? 0) &&
          line <= (filter.last ?? Infinity) &&
          (!terms.length || this.matches(line, terms))
      );
  }

  private linesOf(chips: readonly string[]): Set<number> {
    return new Set(this.log.chips.filter(({ key }) => chips.includes(key)).flatMap(({ lines }) => lines));
  }

  /** Returns all choices, each with the number of its lines that match the other facets of the filter. */
  private facets(filter: TraceFilter): readonly TraceFacet[] {
    return this.log.view.page.facets.map(facet => {
      const others = new Set(this.matching(filter, facet.name));
      const choices = facet.choices.map(choice => ({
        ...choice,
        count: [...this.linesOf([choice.key])].filter(line => others.has(line)).length
      }));
      return { ...facet, choices };
    });
  }

  private matches(line: number, terms: readonly Term[]): boolean {
    const text = this.text(line);
    return terms.every(term => term.test(text));
  }

  private text(line: number): string {
    return (this.texts[line] ??= searchedText(this.log.lines[line]!, this.log.opened[line] as TraceOpened));
  }
}

/** Returns the chips of each facet but one. */
function facetsOf(chips: readonly string[], except: string): string[][] {
  const nameOf = (chip: string) => chip.slice(0, chip.indexOf(':'));
  const names = [...new Set(chips.map(nameOf))].filter(name => name !== except);
  return names.map(name => chips.filter(chip => nameOf(chip) === name));
}

function nested(line: number, row: TraceLine | undefined): number[] {
  return Array.from({ length: row?.below ?? 0 }, (_, i) => line + 1 + i);
}

/** Returns the index of `value` in sorted numbers, or of the first one after it. */
function lowerBound(sorted: readonly number[], value: number): number {
  const at = sorted.findIndex(one => one >= value);
  return at < 0 ? sorted.length : at;
}
