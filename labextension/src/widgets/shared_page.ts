import { ExplorerView } from '../explorer/explorer.js';
import type { ExplorerContext } from '../explorer/explorer_context.js';
import { SharedLogChannel } from '../explorer/shared_log.js';
import { parseSharedLog, type SharedLog } from '../explorer/shared_model.js';
import { readColumns } from '../shared/columns.js';
import { element, linkButton } from '../shared/element.js';
import { hostNode, NO_TRANSLATION } from '../shared/host.js';
import { inflate } from '../shared/inflate.js';
import { tryParse } from '../shared/parse.js';

/** Characters of JSON up to which the data is read. */
const MAX_JSON = 500_000_000;
const trans = NO_TRANSLATION;

/** The explorer in a shared file: its data is in the page, and nothing is loaded. */
async function start(): Promise<void> {
  const main = document.querySelector<HTMLElement>('.nbtools-shared')!;
  const data = document.getElementById('nbtools-data')!;
  const json = await inflate(data.textContent ?? '', MAX_JSON);
  data.remove();
  const log = tryParse(parseSharedLog, json);
  const rows = log && Uint8Array.from(log.data, character => character.charCodeAt(0) & 0xff).buffer;
  const columns = log?.rows.block && rows && readColumns(log.rows.block, rows);
  if (!log || !rows || !columns || [log.view.total, log.rows.total, log.opened.length].some(total => total !== columns.count)) {
    main.replaceChildren(element('p', '', trans.__('This file is damaged: its data cannot be read.')));
    return;
  }
  draw(main, log, new SharedLogChannel(log, rows, columns));
}

function draw(main: HTMLElement, log: SharedLog, channel: SharedLogChannel): void {
  const node = hostNode(main, 'nbtools-rendered nbtools-log');
  const dark = matchMedia('(prefers-color-scheme: dark)');
  setDark(main, dark.matches);
  const explorer = new ExplorerView(contextOf(channel));
  node.append(explorer.node, foot(main, log.note));
  explorer.update({ ...log.view, step: null }, channel.rows);
  const step = stepInAddress();
  step && explorer.showStep(step);
  if (window.parent === window) {
    explorer.focus(); // a page that shows this one in a frame keeps its focus and its place
  }
  window.addEventListener('hashchange', () => {
    const step = stepInAddress();
    step && explorer.showStep(step);
  });
  dark.addEventListener('change', ({ matches }) => setDark(main, matches));
}

function contextOf(channel: SharedLogChannel): ExplorerContext {
  const { clipboard } = navigator as { clipboard?: Clipboard }; // absent where the page is not served securely
  return {
    trans,
    recovery: '',
    channel: () => channel,
    addCell: null,
    compare: null,
    openRelative: null,
    copy: clipboard ? text => clipboard.writeText(text) : null,
    isFile: true,
    linkTo: ({ number }) => `${location.href.split('#')[0]}#step-${number}`,
    onStep: number => history.replaceState(null, '', `#step-${number}`),
    locate: () => null,
    open: () => undefined,
    cancel: () => undefined,
    runAction: () => undefined,
    markdown: async text => element('pre', '', text)
  };
}

/** Returns the number of the step that the address names, as in `#step-48.1`. */
function stepInAddress(): string | undefined {
  return /^#step-([\d.]+)$/.exec(location.hash)?.[1];
}

function foot(main: HTMLElement, note: string): HTMLElement {
  const theme = linkButton(trans.__('light or dark'), () => setDark(main, main.dataset['jpThemeLight'] === 'true'));
  theme.title = trans.__('Switches between light and dark');
  return element(
    'footer',
    'nbtools-shared-foot',
    element('span', '', ['A session shared with nbtools', note].filter(Boolean).join(' · ')),
    theme
  );
}

function setDark(main: HTMLElement, dark: boolean): void {
  main.dataset['jpThemeLight'] = String(!dark);
}

void start();
