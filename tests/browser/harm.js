// What on the page should not be there: elements that a text made, code in attributes, things outside their card, unseen characters.
() => {
  const harm = [];
  const say = (what, node) => harm.push(`${what}: ${(node.outerHTML ?? node.textContent).slice(0, 200)}`);
  const OUTPUT = '.jp-OutputArea-output';
  const CARD = '.nbtools-card, .nbtools-asking, .nbtools-html, .nbtools-sheet';
  const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029\ufeff]|[\u{e0000}-\u{e007f}]/u;
  const ELEMENTS = 'script, iframe, object, embed, form, base, meta, style, link, audio, video, template, math, marquee, mjx-container, noscript';
  const CODE = /^\s*(javascript|vbscript|data:(?!image\/(png|jpeg|gif|webp);base64,))/i;

  document.querySelectorAll('.pwned, #pwned, [name=pwned], [title=pwned]').forEach(node => say('made by a text', node));
  document.querySelectorAll(ELEMENTS.split(', ').map(name => `${OUTPUT} ${name}`).join(', ')).forEach(node => say('active', node));
  // Jupyter itself makes links of what looks like an address in tracebacks and plain text; a browser does not follow those to data.
  for (const node of document.querySelectorAll(`${OUTPUT} *, .jp-Completer *, .jp-Tooltip *`)) {
    const byJupyter = node.localName === 'a' && node.closest('.jp-RenderedText, [data-mime-type*=error], .jp-Tooltip');
    for (const { name, value } of byJupyter ? [] : node.attributes) {
      if (name.startsWith('on') || (/^(href|src|action|data|xlink:href|formaction|srcdoc)$/.test(name) && CODE.test(value))) {
        say('code in an attribute', node);
      }
    }
  }
  for (const card of document.querySelectorAll(CARD)) {
    const area = card.closest(OUTPUT)?.getBoundingClientRect();
    if (!area || !card.checkVisibility()) {
      continue;
    }
    texts(card).filter(text => UNSEEN.test(text)).forEach(text => say('unseen characters', { textContent: JSON.stringify(text) }));
    for (const node of [card, ...card.querySelectorAll('*')]) {
      const ours = '.nbtools-gutter, .nbtools-asking .nbtools-head, .nbtools-asking .nbtools-answers, .cm-announced, .cm-gutters, .cm-chunkButtons';
      if (!node.matches(ours) && /fixed|sticky/.test(getComputedStyle(node).position)) {
        say('an overlay', node);
      }
      const seen = visible(node, card);
      if (seen && (seen.left < area.left - 1 || seen.right > area.right + 1 || seen.top < area.top - 1 || seen.bottom > area.bottom + 1)) {
        say(`outside its card ${JSON.stringify([seen, area])}`, node);
      }
    }
  }
  return [...new Set(harm)].slice(0, 40);

  /** Its pieces of text, but for the zero-width space with which ipywidgets fills an empty label. */
  function texts(card) {
    const walker = document.createTreeWalker(card, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) {
      found.push(walker.currentNode.data);
    }
    return found.filter(text => text !== '\u200b');
  }

  /** The part of a node that its surroundings up to the output do not clip. */
  function visible(node, card) {
    let { left, right, top, bottom } = node.getBoundingClientRect();
    for (let box = node.parentElement; box && box !== card.parentElement; box = box.parentElement) {
      if (getComputedStyle(box).overflowX !== 'visible') {
        const clip = box.getBoundingClientRect();
        [left, right] = [Math.max(left, clip.left), Math.min(right, clip.right)];
        [top, bottom] = [Math.max(top, clip.top), Math.min(bottom, clip.bottom)];
      }
    }
    return right > left && bottom > top ? { left, right, top, bottom } : null;
  }
}
