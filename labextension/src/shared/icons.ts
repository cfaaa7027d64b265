const SVG = 'http://www.w3.org/2000/svg';
/** SVG paths by icon name, in a 16 × 16 view box, stroked in the text colour. */
const STROKES: Record<string, string> = {
  pencil: 'M11 2.5l2.5 2.5L6 12.5l-3.2.7.7-3.2z',
  terminal: 'M2.5 4l4 4-4 4M8.5 12.5h5',
  regex: 'M7 11.5a4.5 4.5 0 1 1 0-9 4.5 4.5 0 0 1 0 9zM10.3 10.3l3.2 3.2',
  fileSearch: 'M9 2H3.5v12H7M9 2l3.5 3.5M9 2v3.5h3.5V7M10 13a2 2 0 1 1 0-4 2 2 0 0 1 0 4zM11.5 12.5L13.5 14.5',
  file: 'M9 2H3.5v12h9V5.5zM9 2v3.5h3.5',
  folder: 'M2 4h4.5L8 5.5h6v7.5H2z',
  globe: 'M8 14A6 6 0 1 1 8 2a6 6 0 0 1 0 12zM2 8h12M8 2c4 4 4 8 0 12M8 2c-4 4-4 8 0 12',
  hammer: 'M9.5 3.5l3 3M3 13l6.5-6.5M6.5 3.5c1.5-1.5 3.5-1.5 5 0l2 2-2 2-5-4z',
  shield: 'M8 2l5 2v4c0 3-2 5-5 6-3-1-5-3-5-6V4z',
  lightBulb: 'M6 11.5c0-2-2-2.5-2-5a4 4 0 0 1 8 0c0 2.5-2 3-2 5zM6.5 14h3',
  person: 'M8 8a2.8 2.8 0 1 1 0-5.6A2.8 2.8 0 0 1 8 8zM2.8 14c0-2.6 2.2-4 5.2-4s5.2 1.4 5.2 4',
  assistant: 'M8 1.8c.5 3.7 2.5 5.7 6.2 6.2-3.7.5-5.7 2.5-6.2 6.2-.5-3.7-2.5-5.7-6.2-6.2 3.7-.5 5.7-2.5 6.2-6.2z',
  thought: 'M4.6 10.4a3 3 0 0 1 .2-5.9 3.6 3.6 0 0 1 6.6.6 2.7 2.7 0 0 1-.5 5.3zM4.4 13.6h.1M6.6 12.2h.1',
  agent: 'M3.5 2.5v5a2 2 0 0 0 2 2H13M10 6.5l3 3-3 3',
  fold: 'M3 8h10M8 1.8v4M6 4.2l2 1.8 2-1.8M8 14.2v-4M6 11.8l2-1.8 2 1.8',
  clip: 'M12.5 7.5l-5 5a2.9 2.9 0 0 1-4-4l5.5-5.5a1.9 1.9 0 0 1 2.7 2.7L6.3 11a.9.9 0 0 1-1.3-1.3l4.6-4.6',
  alarm: 'M8 2.2L14.3 13H1.7zM8 6.4v3M8 11.2v.1',
  session: 'M2 3.5h12v9H2zM2 6h12'
};

/** Returns the icon with this name; unknown names get the generic tool icon, a hammer. */
export function icon(name: string): HTMLElement {
  const node = document.createElement('span');
  node.className = 'nbtools-icon';
  node.setAttribute('aria-hidden', 'true');
  node.append(drawing(new Map(Object.entries(STROKES)).get(name) ?? STROKES['hammer']!));
  return node;
}

function drawing(strokes: string): SVGElement {
  const svg = document.createElementNS(SVG, 'svg');
  const attributes = { width: '14', height: '14', viewBox: '0 0 16 16', fill: 'none', stroke: 'currentColor' };
  Object.entries(attributes).forEach(([name, value]) => svg.setAttribute(name, value));
  svg.setAttribute('stroke-width', '1.3');
  svg.setAttribute('stroke-linecap', 'round');
  svg.setAttribute('stroke-linejoin', 'round');
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', strokes);
  svg.append(path);
  return svg;
}

/** Returns an icon's source, for a `LabIcon`. */
export function iconSource(name: string): string {
  return `<svg xmlns="${SVG}" width="16" height="16" viewBox="0 0 16 16" fill="none"><path class="jp-icon3" stroke="#616161" stroke-width="1.3" stroke-linecap="round" stroke-linejoin="round" d="${STROKES[name] ?? ''}"/></svg>`;
}
