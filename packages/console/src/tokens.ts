/**
 * The design tokens of the console: colors of both schemes, one type scale, one spacing scale. theme.ts makes Mantine's variables and ours
 * (`--tk-…`) of them; components use those and no value of their own. docs/decisions/0042-console-design.md explains the choices.
 */

/** Every color of one scheme. The contrast of text is at least 4.5:1 on each surface that it is used on, which axe-core checks. */
export type Palette = {
  /** Surfaces, from the page to what the pointer is over. */
  canvas: string
  panel: string
  hover: string
  pressed: string
  /** Lines: between rows, around controls, and graphics that carry meaning. */
  line: string
  lineStrong: string
  graphic: string
  /** Text, from headings to hints. */
  ink: string
  text: string
  muted: string
  /** The one accent: links, focus, the selected item. */
  accent: string
  accentSoft: string
  /** The accent as a surface with white on it, such as a checked box. */
  accentSurface: string
  /** Status colors. Each is readable on its own soft surface and on a panel. */
  good: string
  goodSoft: string
  bad: string
  badSoft: string
  warn: string
  warnSoft: string
  info: string
  infoSoft: string
  /** Red as a surface with white text, for actions that delete. */
  danger: string
  dangerHover: string
  /** Kinds of spans in a trace, and further series of a chart. */
  model: string
  tool: string
  retrieval: string
  system: string
}

export const light: Palette = {
  canvas: '#f7f7f5',
  panel: '#ffffff',
  hover: '#f1f1ee',
  pressed: '#e9e8e4',
  line: '#e6e5e1',
  lineStrong: '#d3d2cc',
  graphic: '#8b8a83',
  ink: '#171714',
  text: '#3d3c37',
  muted: '#66655e',
  accent: '#4338ca',
  accentSoft: '#ecebfd',
  accentSurface: '#4338ca',
  good: '#0b6b43',
  goodSoft: '#e1f4e9',
  bad: '#b3261e',
  badSoft: '#fdeae8',
  warn: '#7d4e00',
  warnSoft: '#fdf1d8',
  info: '#1b56ad',
  infoSoft: '#e6effc',
  danger: '#b3261e',
  dangerHover: '#931c13',
  model: '#4f46e5',
  tool: '#0b7f7a',
  retrieval: '#b7791f',
  system: '#8b8a83',
}

/** Not the light scheme inverted: surfaces are closer together, colors lighter and less saturated. */
export const dark: Palette = {
  canvas: '#0f0f10',
  panel: '#161618',
  hover: '#1f1f22',
  pressed: '#29292d',
  line: '#27272b',
  lineStrong: '#46464d',
  graphic: '#77777e',
  ink: '#f3f3f1',
  text: '#d2d2cf',
  muted: '#a0a0a5',
  accent: '#aaa5ff',
  accentSoft: '#25233f',
  accentSurface: '#5b52e0',
  good: '#62cc94',
  goodSoft: '#14291f',
  bad: '#ff8f86',
  badSoft: '#341a19',
  warn: '#e6b75c',
  warnSoft: '#302510',
  info: '#86b4f8',
  infoSoft: '#16243a',
  danger: '#c5352b',
  dangerHover: '#d8463b',
  model: '#8b85ff',
  tool: '#4fc3bd',
  retrieval: '#e0b04f',
  system: '#77777e',
}

/** Pixels at the browser's usual size, written as rem, so that a larger text size of the browser enlarges everything. */
const rem = (pixels: number): string => `${pixels / 16}rem`

/** One scale for all text. `md` is the base. */
export const fontSizes = { xs: rem(12), sm: rem(13), md: rem(14), lg: rem(16), xl: rem(20) }

export const headingSizes = {
  h1: { fontSize: rem(24), lineHeight: '1.25' },
  h2: { fontSize: rem(20), lineHeight: '1.3' },
  h3: { fontSize: rem(16), lineHeight: '1.4' },
  h4: { fontSize: rem(14), lineHeight: '1.45' },
  h5: { fontSize: rem(13), lineHeight: '1.45' },
  h6: { fontSize: rem(12), lineHeight: '1.45' },
}

/** One scale for distances, in steps of four pixels. */
export const spacing = { xs: rem(8), sm: rem(12), md: rem(16), lg: rem(24), xl: rem(32) }

export const radius = { xs: rem(4), sm: rem(6), md: rem(8), lg: rem(12), xl: rem(16) }

export const fonts = {
  text: '"Inter Variable", "Inter Fallback", system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
  code: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
}
