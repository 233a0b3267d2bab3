/** A row of figures with their names. They wrap on a phone. */
import { Box, Paper, Text } from '@mantine/core'
import type { ReactNode } from 'react'

export function Figures({ children }: { children: ReactNode }) {
  return (
    <Box component="dl" m={0} style={{ display: 'grid', gap: 12, gridTemplateColumns: 'repeat(auto-fill, minmax(160px, 1fr))' }}>
      {children}
    </Box>
  )
}

/** `note` explains the figure: of what, since when. */
export function Figure({ label, note, alarming, children }: { label: string; note?: ReactNode; alarming?: boolean; children: ReactNode }) {
  return (
    <Paper withBorder p="sm">
      <Text component="dt" size="sm">
        {label}
      </Text>
      <Text component="dd" m={0} fz="xl" fw={600} className="as-written" {...(alarming ? { c: 'red' } : {})}>
        {children}
        {note ? (
          <Text span display="block" size="xs" fw={400} c="var(--mantine-color-text)">
            {note}
          </Text>
        ) : null}
      </Text>
    </Paper>
  )
}
