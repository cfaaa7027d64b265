import { ICON_PATHS } from '../cards/model.js';

const SVG = 'http://www.w3.org/2000/svg';
const PATHS = new Map<string, string>(Object.entries(ICON_PATHS));

/** Returns the icon with this name; unknown names get the generic tool icon, a hammer. */
export function icon(name: string): HTMLElement {
  const node = document.createElement('span');
  node.className = 'nbtools-icon';
  node.setAttribute('aria-hidden', 'true');
  node.append(drawing(PATHS.get(name) ?? ICON_PATHS.hammer));
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
  return `<svg xmlns="${SVG}" width="16" height="16" viewBox="0 0 16 16" fill="none"><path class="jp-icon3" stroke="#616161" stroke-width="1.3" stroke-linecap="round" stroke-linejoin="round" d="${PATHS.get(name) ?? ''}"/></svg>`;
}
