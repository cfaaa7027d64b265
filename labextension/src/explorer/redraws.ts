import { DisposableDelegate, type IDisposable } from '@lumino/disposable';

/** Calls `draw` when a node's size, the theme or a style sheet has changed; a theme's colours apply once its style sheet is loaded. */
export function onRedraw(node: HTMLElement, draw: () => void): IDisposable {
  const sizes = new ResizeObserver(draw);
  const themes = new MutationObserver(draw);
  const loaded = ({ target }: Event): void => {
    target instanceof HTMLLinkElement && draw();
  };
  sizes.observe(node);
  themes.observe(document.body, { attributeFilter: ['data-jp-theme-name', 'data-jp-theme-light'] });
  document.addEventListener('load', loaded, true);
  return new DisposableDelegate(() => {
    sizes.disconnect();
    themes.disconnect();
    document.removeEventListener('load', loaded, true);
  });
}
