type Rgb = readonly [number, number, number];

const AA = 4.5;
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

/** The contrast of two colours after WCAG, 1 to 21. */
export function contrast(one: Rgb, other: Rgb): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

/** `#rrggbb` moved towards black or white, whichever is further from the paper, until it reads on the paper (AA). */
export function readable(hex: string, paper: string): string {
  const [from, ground] = [parse(hex), parse(paper)];
  const ink = contrast(WHITE, ground) > contrast(BLACK, ground) ? WHITE : BLACK;
  for (let share = 0; share <= 1; share += 0.05) {
    const mixed = from.map((c, i) => Math.round(c + (ink[i]! - c) * share)) as unknown as Rgb;
    if (contrast(mixed, ground) >= AA) {
      return '#' + mixed.map(c => c.toString(16).padStart(2, '0')).join('');
    }
  }
  return ink === WHITE ? '#ffffff' : '#000000';
}
