import type { TranslationBundle } from '@jupyterlab/translation';

/** A `TranslationBundle` without a catalogue, for widgets outside JupyterLab: it only fills in the arguments. */
export const NO_TRANSLATION: TranslationBundle = {
  __: fill,
  gettext: fill,
  _n: plural,
  ngettext: plural,
  _p: (_: string, text: string, ...values: unknown[]) => fill(text, ...values),
  pgettext: (_: string, text: string, ...values: unknown[]) => fill(text, ...values),
  _np: (_: string, one: string, many: string, count: number, ...values: unknown[]) => plural(one, many, count, ...values),
  npgettext: (_: string, one: string, many: string, count: number, ...values: unknown[]) => plural(one, many, count, ...values),
  dcnpgettext: (_: string, __: string, one: string, many: string, count: number, ...values: unknown[]) =>
    plural(one, many, count, ...values)
};

/**
 * Prepares the element in which a front end shows a widget, and returns the element to draw into.
 *
 * The style sheets use JupyterLab's variables (`--jp-*`).  Where the front end does not define them (VS Code, Colab, marimo), they are
 * set from its own variables or to a default, and the theme is derived from its background.  Call it when `el` is attached to the page.
 */
export function hostNode(el: HTMLElement, className: string): HTMLElement {
  const node = document.createElement('div');
  node.className = className;
  el.replaceChildren(node);
  const style = getComputedStyle(el);
  if (style.getPropertyValue('--jp-layout-color0') === '') {
    el.classList.add('nbtools-host');
    el.dataset['jpThemeLight'] = String(!isDark(el));
  }
  return node;
}

/** Whether the first opaque background behind `el` is dark; without one, whether the person prefers dark themes. */
function isDark(el: HTMLElement): boolean {
  if (document.body.matches('.vscode-dark, .vscode-high-contrast:not(.vscode-high-contrast-light)')) {
    return true;
  }
  for (let node: Element | null = el; node; node = node.parentElement ?? hostOf(node)) {
    const [red = 0, green = 0, blue = 0, alpha = 0] = pixelOf(getComputedStyle(node).backgroundColor);
    if (alpha > 127) {
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 128;
    }
  }
  return matchMedia('(prefers-color-scheme: dark)').matches;
}

/** Returns a color in any CSS notation (`oklch(…)`, `color(…)`) as red, green, blue and alpha, 0–255. */
function pixelOf(color: string): Uint8ClampedArray | number[] {
  const canvas = document.createElement('canvas');
  canvas.width = canvas.height = 1;
  const context = canvas.getContext('2d');
  if (!context) {
    return [];
  }
  context.fillStyle = color;
  context.fillRect(0, 0, 1, 1);
  return context.getImageData(0, 0, 1, 1).data;
}

function hostOf(node: Element): Element | null {
  const root = node.getRootNode();
  return root instanceof ShadowRoot ? root.host : null;
}

function fill(text: string, ...values: unknown[]): string {
  return text.replace(/%(\d+)/g, (mark, number) => String(values[Number(number) - 1] ?? mark));
}

function plural(one: string, many: string, count: number, ...values: unknown[]): string {
  return fill(count === 1 ? one : many, count, ...values);
}
