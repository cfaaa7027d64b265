import { ignoreMovedClick } from './double_click.js';

type Child = Node | string;

/** Creates an element with a class and children.  Strings become text nodes, never markup. */
export function element<K extends keyof HTMLElementTagNameMap>(tag: K, className = '', ...children: Child[]): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  node.className = className;
  node.append(...children);
  return node;
}

/** Creates a button that looks like a link. */
export function linkButton(label: string, onClick: (event: MouseEvent) => void, title = ''): HTMLButtonElement {
  const button = element('button', 'nbtools-link', label);
  button.type = 'button';
  button.title = title;
  button.addEventListener('click', event => {
    ignoreMovedClick(event);
    onClick(event);
  });
  return button;
}

/** Lets the keyboard reach a box that scrolls, and names it for screen readers. */
export function makeScrollable(box: HTMLElement, label: string): void {
  box.tabIndex = 0;
  box.setAttribute('role', 'group');
  box.setAttribute('aria-label', label);
}

/** Sets a node's text if it differs: an unchanged node keeps its selection and is not announced again by a screen reader. */
export function setText(node: HTMLElement, text: string): void {
  if (node.textContent !== text) {
    node.textContent = text;
  }
}

/** Returns the focused element in `node`, which may be inside a shadow root (marimo); null if the focus is elsewhere. */
export function focusedIn(node: Node): HTMLElement | null {
  const { activeElement } = node.getRootNode() as Document | ShadowRoot;
  return activeElement instanceof HTMLElement && node.contains(activeElement) ? activeElement : null;
}

/** Replaces the children of `node` by those of `fresh`.  Equal children are left in place, so that they keep their selection and scroll position. */
export function updateChildren(node: Node, fresh: Node): void {
  const children = [...fresh.childNodes];
  children.forEach((child, i) => {
    const old = node.childNodes[i];
    if (!old) {
      node.appendChild(child);
    } else if (!old.isEqualNode(child)) {
      node.replaceChild(child, old);
    }
  });
  [...node.childNodes].slice(children.length).forEach(child => child.remove());
}

/**
 * Keeps keys from Jupyter's shortcuts, which edit and delete cells, while something in `node` has the focus.
 * Escape, and keys with Ctrl, Alt or Meta, still reach Jupyter.  Returns a function that ends this.
 */
export function keepKeys(node: HTMLElement): () => void {
  const listener = (event: KeyboardEvent) => {
    const target = event.composedPath()[0];
    const isForJupyter = event.key === 'Escape' || event.ctrlKey || event.altKey || event.metaKey;
    target instanceof Node && node.contains(target) && !isForJupyter && event.stopImmediatePropagation();
  };
  window.addEventListener('keydown', listener, true);
  return () => window.removeEventListener('keydown', listener, true);
}
