/** Mantine's theme and variables, made of tokens.ts. page.css has what no component has. */
import { ActionIcon, Badge, Button, Modal, NavLink, Table, Tooltip, createTheme } from '@mantine/core'
import type { CSSVariablesResolver, MantineColorsTuple } from '@mantine/core'
import { dark, fontSizes, fonts, headingSizes, light, radius, spacing } from './tokens.ts'
import type { Palette } from './tokens.ts'

const { canvas, panel, hover, pressed, line, lineStrong, graphic, muted, text, ink } = light
/** Mantine's styles read single shades of these two in the light and the dark scheme. */
const gray: MantineColorsTuple = [canvas, hover, pressed, line, lineStrong, graphic, muted, muted, text, ink]
const night: MantineColorsTuple = [
  dark.text,
  '#bcbcbb',
  dark.muted,
  dark.graphic,
  dark.lineStrong,
  dark.hover,
  dark.panel,
  dark.canvas,
  '#0b0b0c',
  '#080809',
]
const same = (color: string): MantineColorsTuple => [color, color, color, color, color, color, color, color, color, color]

export const theme = createTheme({
  primaryColor: 'accent',
  // Each color has one value in each scheme, which the variables below decide.
  colors: { gray, dark: night, accent: same(light.accent) },
  white: panel,
  black: ink,
  defaultRadius: 'sm',
  radius,
  spacing,
  fontSizes,
  fontFamily: fonts.text,
  fontFamilyMonospace: fonts.code,
  headings: { fontWeight: '600', sizes: headingSizes },
  cursorType: 'pointer',
  // A dialog is at its place at once, so that a click does not find its button moved.
  respectReducedMotion: true,
  components: {
    ActionIcon: ActionIcon.extend({ defaultProps: { variant: 'subtle', color: 'gray' } }),
    // A truncated word has no meaning.
    Badge: Badge.extend({ defaultProps: { tt: 'none', variant: 'light', miw: 'max-content', fw: 500, radius: 'xl' } }),
    // The main action of a page has the color of the text; the accent is for links and selection.
    Button: Button.extend({
      defaultProps: { fw: 500 },
      vars: (_, { variant = 'filled', color }) => ({
        root:
          variant === 'filled' && color === undefined
            ? { '--button-bg': 'var(--tk-ink)', '--button-hover': 'var(--tk-text)', '--button-color': 'var(--tk-canvas)' }
            : {},
      }),
    }),
    Modal: Modal.extend({ defaultProps: { centered: true, radius: 'lg', closeButtonProps: { 'aria-label': 'Close' } } }),
    NavLink: NavLink.extend({ defaultProps: { variant: 'subtle' } }),
    Table: Table.extend({ defaultProps: { verticalSpacing: 'xs', horizontalSpacing: 'sm', borderColor: 'var(--tk-line)' } }),
    Tooltip: Tooltip.extend({ defaultProps: { events: { hover: true, focus: true, touch: true }, multiline: true, maw: 360 } }),
  },
})

const kebab = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

/** The variables of one of Mantine's color names. `surface` carries white text. */
function named(name: string, color: string, soft: string, surface = color, surfaceHover = color): Record<string, string> {
  const of = `--mantine-color-${name}`
  return {
    [`${of}-text`]: color,
    [`${of}-filled`]: surface,
    [`${of}-filled-hover`]: surfaceHover,
    [`${of}-light`]: soft,
    [`${of}-light-hover`]: soft,
    [`${of}-light-color`]: color,
    [`${of}-outline`]: color,
    [`${of}-outline-hover`]: soft,
  }
}

function variablesOf(palette: Palette): Record<string, string> {
  const ours = Object.fromEntries(Object.entries(palette).map(([name, value]) => [`--tk-${kebab(name)}`, value]))
  return {
    ...ours,
    '--mantine-color-body': palette.panel,
    '--mantine-color-text': palette.ink,
    '--mantine-color-bright': palette.ink,
    '--mantine-color-dimmed': palette.muted,
    '--mantine-color-placeholder': palette.muted,
    '--mantine-color-anchor': palette.accent,
    '--mantine-color-default': palette.panel,
    '--mantine-color-default-hover': palette.hover,
    '--mantine-color-default-color': palette.ink,
    '--mantine-color-default-border': palette.lineStrong,
    '--mantine-color-error': palette.bad,
    '--mantine-color-success': palette.good,
    '--mantine-color-disabled': palette.pressed,
    '--mantine-color-disabled-color': palette.muted,
    '--mantine-color-disabled-border': palette.line,
    '--mantine-primary-color-contrast': palette.panel,
    ...named('accent', palette.accent, palette.accentSoft, palette.accentSurface),
    ...named('teal', palette.good, palette.goodSoft),
    ...named('red', palette.bad, palette.badSoft, palette.danger, palette.dangerHover),
    ...named('yellow', palette.warn, palette.warnSoft),
    ...named('orange', palette.warn, palette.warnSoft),
    ...named('blue', palette.info, palette.infoSoft),
    ...named('gray', palette.muted, palette.hover),
  }
}

export const variables: CSSVariablesResolver = () => ({ variables: {}, light: variablesOf(light), dark: variablesOf(dark) })
