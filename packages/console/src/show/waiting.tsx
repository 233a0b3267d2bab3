/** What is shown while data is loading, or if it could not be loaded. */
import { Paper, Skeleton, Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import { FailureNote } from './failure-note.tsx'

type Asked<Data> = { data: Data | undefined; error: Error | null; refetch(): unknown }

/**
 * `children` receives the data. Before that, rows are outlined where it will be, or a note says why it failed. Loaded data stays visible while
 * it is loaded again.
 */
export function Waiting<Data>({ for: asked, what, children }: { for: Asked<Data>; what: string; children: (data: Data) => ReactNode }) {
  if (asked.data !== undefined) return <>{children(asked.data)}</>
  if (asked.error) return <FailureNote error={asked.error} title={`Could not load ${what}`} onRetry={() => void asked.refetch()} />
  return <Outline label={`Loading ${what}…`} />
}

const widths = ['35%', '80%', '65%', '75%', '50%']

/** Appears after a moment, so that what loads fast does not flicker. */
export const Outline = ({ label }: { label: string }) => (
  <Paper withBorder p="md" role="status" className="appears-late">
    <span className="for-readers-only">{label}</span>
    <Stack gap="md" py={4} aria-hidden="true">
      {widths.map((width) => (
        <Skeleton key={width} h={14} w={width} />
      ))}
    </Stack>
  </Paper>
)

/** Of a whole page whose code is loading: its heading and what is below. */
export const PageOutline = () => (
  <Stack gap="lg">
    <div className="appears-late" aria-hidden="true">
      <Skeleton h={26} w={180} mb={10} />
      <Skeleton h={13} w="min(420px, 90%)" />
    </div>
    <Outline label="Loading" />
  </Stack>
)
