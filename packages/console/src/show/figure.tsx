/** A panel of figures with their names. They wrap on a phone. */
import { Box, Text } from '@mantine/core'
import type { ReactNode } from 'react'

export function Figures({ children }: { children: ReactNode }) {
  return (
    <Box component="dl" m={0} className="figure-panel">
      {children}
    </Box>
  )
}

/** `note` explains the figure: of what, since when. */
export function Figure({ label, note, alarming, children }: { label: string; note?: ReactNode; alarming?: boolean; children: ReactNode }) {
  return (
    <div className="figure">
      <Text component="dt" size="sm" c="dimmed">
        {label}
      </Text>
      <Text component="dd" m={0} fz="xl" fw={600} className="as-written" {...(alarming ? { c: 'red' } : {})}>
        {children}
        {note ? (
          <Text span display="block" size="xs" fw={400} c="dimmed">
            {note}
          </Text>
        ) : null}
      </Text>
    </div>
  )
}
