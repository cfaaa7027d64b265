type Child = Node | string;

/** A new element with a class and children; strings become text, never markup. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className = '',
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  node.className = className;
  node.append(...children);
  return node;
}

/** A quiet button that looks like a link. */
export function linkButton(label: string, run: () => void, title = ''): HTMLButtonElement {
  const button = element('button', 'nbtools-link', label);
  button.type = 'button';
  button.title = title;
  button.addEventListener('click', run);
  return button;
}

/** Changes a node's text only where it differs, so that a selection and a screen reader are left in peace. */
export function setText(node: HTMLElement, text: string): void {
  if (node.textContent !== text) {
    node.textContent = text;
  }
}

/** Makes a node's children like those of `fresh`; those that are equal stay, and with them what is selected and scrolled in them. */
export function keepEqual(node: Node, fresh: Node): void {
  const wanted = [...fresh.childNodes];
  wanted.forEach((child, i) => {
    const old = node.childNodes[i];
    if (!old) {
      node.appendChild(child);
    } else if (!old.isEqualNode(child)) {
      node.replaceChild(child, old);
    }
  });
  [...node.childNodes].slice(wanted.length).forEach(child => child.remove());
}
