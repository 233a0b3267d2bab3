/** The look of the console. Colors have a contrast of 4.5:1 in both schemes, which axe-core checks. page.css has the other colors. */
import { Badge, DEFAULT_THEME, Modal, Tooltip, createTheme } from '@mantine/core'
import type { MantineColorsTuple } from '@mantine/core'

/** A color whose darkest shade is readable on its own lightest ones, and which carries white text. */
function deeper(name: 'green' | 'orange' | 'red' | 'teal' | 'yellow', darkest: string): MantineColorsTuple {
  const [a, b, c, d, e, f, g, h, i] = DEFAULT_THEME.colors[name]
  return [a, b, c, d, e, f, g, h, i, darkest]
}

export const theme = createTheme({
  primaryColor: 'teal',
  // From the first shade that carries white text.
  primaryShade: 9,
  colors: {
    green: deeper('green', '#20692f'),
    orange: deeper('orange', '#9a3412'),
    red: deeper('red', '#b42318'),
    teal: deeper('teal', '#066b4d'),
    yellow: deeper('yellow', '#7a4d00'),
  },
  autoContrast: true,
  // Where white and black text have the same contrast.
  luminanceThreshold: 0.179,
  defaultRadius: 'md',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace',
  headings: { fontWeight: '600' },
  cursorType: 'pointer',
  components: {
    // A truncated word has no meaning.
    Badge: Badge.extend({ defaultProps: { tt: 'none', variant: 'light', miw: 'max-content' } }),
    Modal: Modal.extend({ defaultProps: { centered: true, closeButtonProps: { 'aria-label': 'Close' } } }),
    Tooltip: Tooltip.extend({ defaultProps: { events: { hover: true, focus: true, touch: true }, multiline: true, maw: 360 } }),
  },
})
