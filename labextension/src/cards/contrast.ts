type Rgb = readonly [number, number, number];

const MIN_CONTRAST = 4.5;
const WHITE: Rgb = [255, 255, 255];
const BLACK: Rgb = [0, 0, 0];

function parse(hex: string): Rgb {
  const value = parseInt(hex.slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

function luminance(colour: Rgb): number {
  const [r, g, b] = colour.map(channel => {
    const c = channel / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Returns the contrast ratio of two colors as defined by WCAG, from 1 to 21. */
export function contrast(a: Rgb, b: Rgb): number {
  const [dark, light] = [luminance(a), luminance(b)].sort((a, b) => a - b) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

/** Darkens or lightens a color (`#rrggbb`) until its contrast with the background reaches WCAG level AA. */
export function readable(hex: string, background: string): string {
  const [original, backgroundRgb] = [parse(hex), parse(background)];
  const target = contrast(WHITE, backgroundRgb) > contrast(BLACK, backgroundRgb) ? WHITE : BLACK;
  for (let share = 0; share <= 1; share += 0.05) {
    const mixed = original.map((c, i) => Math.round(c + (target[i]! - c) * share)) as unknown as Rgb;
    if (contrast(mixed, backgroundRgb) >= MIN_CONTRAST) {
      return '#' + mixed.map(c => c.toString(16).padStart(2, '0')).join('');
    }
  }
  return target === WHITE ? '#ffffff' : '#000000';
}
