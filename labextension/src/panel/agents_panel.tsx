import { LabIcon, ReactWidget, SidePanel } from '@jupyterlab/ui-components';
import type { Message } from '@lumino/messaging';
import type { AccordionPanel } from '@lumino/widgets';
import type { JSX } from 'react';
import { Changes } from './changes_section.js';
import { knownKernels, type KnownKernel, type PanelContext } from './panel_context.js';
import { Rules } from './rules_section.js';
import { Running } from './running_section.js';
import { Servers } from './servers_section.js';
import { Sessions } from './sessions_section.js';
import { Waiting } from './waiting_section.js';

const AGENTS_ICON = new LabIcon({
  name: 'nbtools-agent:agents',
  svgstr:
    '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 16 16">' +
    '<g class="jp-icon3 jp-icon-selectable" stroke="#616161" stroke-width="1.4" stroke-linecap="round" stroke-linejoin="round" ' +
    'style="fill:none"><path d="M2 3.5h12v8H8.6L5.4 14v-2.5H2z"/><path d="M5.2 7.6l1.9 1.9 3.7-3.9"/></g></svg>'
});
/** Shares of the panel's height that the open sections get. */
const SIZES = [6, 2, 1, 3, 2, 2];
/** The sections that are open at first: *Waiting*, *Running* and *Changes*. */
const OPEN = [0, 1, 3];

/** The panel *Agents*: what waits, runs and was changed in all notebooks, and what calls may do. */
export class AgentsPanel extends SidePanel {
  private readonly sections: readonly Section[];
  private readonly started = new Set<string>();

  constructor(
    private readonly context: PanelContext,
    chooseLog: (() => unknown) | null
  ) {
    super();
    const { trans, states, logs } = context;
    this.id = 'nbtools-agents';
    this.addClass('nbtools-agents');
    this.title.icon = AGENTS_ICON;
    this.title.caption = trans.__('Agents');
    this.node.setAttribute('role', 'region');
    this.node.setAttribute('aria-label', trans.__('Agents'));
    const count = (of: (kernel: KnownKernel) => number) => () => knownKernels(states).reduce((sum, kernel) => sum + of(kernel), 0);
    this.sections = [
      new Section(
        'waiting',
        trans.__('Waiting'),
        count(({ state }) => state.questions.length),
        () => <Waiting context={context} />
      ),
      new Section(
        'running',
        trans.__('Running'),
        count(({ state }) => state.running.length),
        () => <Running context={context} />
      ),
      new Section(
        'sessions',
        trans.__('Sessions'),
        () => 0,
        () => <Sessions context={context} chooseLog={chooseLog} />
      ),
      new Section(
        'changes',
        trans.__('Changes'),
        count(({ state }) => state.changes.filter(one => !one.undone_by).length),
        () => <Changes context={context} />
      ),
      new Section(
        'rules',
        trans.__('Rules'),
        count(({ state }) => state.rules?.grants.length ?? 0),
        () => <Rules context={context} />
      ),
      new Section(
        'servers',
        trans.__('MCP servers'),
        count(({ state }) => state.servers.length),
        () => <Servers context={context} />
      )
    ];
    this.sections.forEach(section => this.addWidget(section));
    const accordion = this.content as AccordionPanel;
    this.sections.forEach((_, i) => (OPEN.includes(i) ? accordion.expand(i) : accordion.collapse(i)));
    accordion.setRelativeSizes(SIZES);
    states.changed.connect(this.refresh, this);
    logs.changed.connect(this.refresh, this);
  }

  /** Opens the section *Waiting* and moves the focus to its first question, else to the section's title. */
  showWaiting(): void {
    (this.content as AccordionPanel).expand(0);
    const place = '.nbtools-waiting [data-nbtools-safe], .lm-AccordionPanel-title';
    requestAnimationFrame(() => {
      const [title, safe = title] = this.node.querySelectorAll<HTMLElement>(place);
      (safe?.closest('.nbtools-waiting') ? safe : title)?.focus();
    });
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this.refresh();
  }

  private refresh(): void {
    this.sections.forEach(section => section.refresh());
    if (this.isVisible) {
      this.startSessions();
    }
  }

  /** Has each kernel create its session and read its servers, once: before the first call, there is nothing to show yet. */
  private startSessions(): void {
    const loaded = this.context.states.current.filter(kernel => kernel.loaded).map(({ kernel }) => kernel);
    [...this.started].filter(kernel => !loaded.includes(kernel)).forEach(kernel => this.started.delete(kernel));
    for (const kernel of loaded.filter(one => !this.started.has(one))) {
      this.started.add(kernel);
      this.context.states
        .request(kernel)('panel.start', {})
        .catch(() => this.started.delete(kernel));
    }
  }
}

/** One section of the panel, with the number of its rows in its title.  It is drawn while it is visible. */
class Section extends ReactWidget {
  constructor(
    name: string,
    private readonly label: string,
    private readonly count: () => number,
    private readonly draw: () => JSX.Element
  ) {
    super();
    this.addClass('nbtools-section');
    this.node.dataset['section'] = name;
    this.title.label = label;
    this.node.tabIndex = 0; // it scrolls, and may have nothing else that the keyboard reaches
  }

  refresh(): void {
    const count = this.count();
    const title = count > 0 ? `${this.label} (${count})` : this.label;
    if (this.title.label !== title) {
      this.title.label = title;
    }
    if (this.isVisible) {
      this.update();
    }
  }

  protected override onAfterShow(message: Message): void {
    super.onAfterShow(message);
    this.update();
  }

  protected override render(): JSX.Element {
    return this.draw();
  }
}
