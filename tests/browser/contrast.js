// The texts of cards and questions whose contrast is below AA, with their classes: {} when all read.
() => {
  const AA = 4.5;
  const parse = colour => {
    const [, srgb, inner] = /^(?:rgba?|color)\((srgb )?([^)]*)\)/.exec(colour);
    const [r, g, b, alpha = 1] = inner.split(/[ ,/]+/).map(Number);
    return [...[r, g, b].map(channel => (srgb ? channel * 255 : channel)), alpha];
  };
  const over = (top, under) => [0, 1, 2].map(i => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const lines = function* (element) {
    for (let e = element; e; e = e.parentElement) yield e;
  };
  const ground = element =>
    [...lines(element)].map(e => parse(getComputedStyle(e).backgroundColor)).reverse().reduce((under, top) => over(top, under), [255, 255, 255, 1]);
  const opacity = element => [...lines(element)].reduce((product, e) => product * Number(getComputedStyle(e).opacity), 1);
  const luminance = colour => {
    const [r, g, b] = colour.map(c => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const faint = {};
  for (const element of document.querySelectorAll(':is(.nbtools-rendered, .nbtools-asking) *')) {
    const own = [...element.childNodes].filter(node => node.nodeType === Node.TEXT_NODE).map(node => node.textContent.trim()).join('');
    if (!own || !element.getClientRects().length) continue;
    const paper = ground(element);
    const ink = parse(getComputedStyle(element).color);
    const contrast = ratio(over([...ink.slice(0, 3), ink[3] * opacity(element)], paper), paper);
    if (contrast < AA) faint[`${element.className}: ${own.slice(0, 20)}`] = contrast;
  }
  return faint;
}
