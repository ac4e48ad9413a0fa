/** The backgrounds of text in the accent colour, for each theme; the same values as in `style.css`. */
export const backgrounds = {
  light: ["#ffffff", "#f7f8fa", "#eef0f4"],
  dark: ["#161a21", "#0e1116", "#0a0d11"],
} as const;

/** WCAG 2.2, success criterion 1.4.3, for text of any size. */
const leastContrast = 4.5;
const steps = 64;

type Rgb = readonly [red: number, green: number, blue: number];

/**
 * Adjusts a colour to a theme. `accent` is the nearest colour that is readable on the theme's backgrounds, and `onAccent` is
 * black or white for text on it. @param colour #rrggbb
 */
export function readableColour(
  colour: string,
  theme: keyof typeof backgrounds,
): { accent: string; onAccent: string } {
  const given = parse(colour);
  const towards: Rgb = theme === "light" ? [0, 0, 0] : [255, 255, 255];
  let accent = given;
  for (let step = 1; step <= steps && !isReadable(accent, theme); step++) {
    accent = mix(given, towards, step / steps);
  }
  const onAccent = contrast(accent, [255, 255, 255]) >= contrast(accent, [0, 0, 0]) ? "#ffffff" : "#000000";
  return { accent: format(accent), onAccent };
}

/** The contrast of two colours, 1 to 21 (WCAG 2.2, "contrast ratio"). */
export function contrastOf(one: string, other: string): number {
  return contrast(parse(one), parse(other));
}

function isReadable(colour: Rgb, theme: keyof typeof backgrounds): boolean {
  return backgrounds[theme].every((background) => contrast(colour, parse(background)) >= leastContrast);
}

function contrast(one: Rgb, other: Rgb): number {
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

/** WCAG 2.2, "relative luminance". */
function luminance([red, green, blue]: Rgb): number {
  const [r, g, b] = [red, green, blue].map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function mix(from: Rgb, to: Rgb, share: number): Rgb {
  return from.map((value, index) => Math.round(value + (to[index]! - value) * share)) as unknown as Rgb;
}

function parse(colour: string): Rgb {
  const value = Number.parseInt(colour.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

function format(colour: Rgb): string {
  return `#${colour.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}
