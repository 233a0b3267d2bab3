/** What is shown while data is loading, or if it could not be loaded. */
import { Paper, Skeleton, Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import { ApiFailure } from '../api/client.ts'
import { Empty } from './empty.tsx'
import { FailureNote } from './failure-note.tsx'

type Asked<Data> = { data: Data | undefined; error: Error | null; refetch(): unknown }

/**
 * `children` receives the data. Before that, rows are outlined where it will be, or a note says why it failed, or that there is no such thing.
 * Loaded data stays visible while it is loaded again.
 */
export function Waiting<Data>({ for: asked, what, children }: { for: Asked<Data>; what: string; children: (data: Data) => ReactNode }) {
  if (asked.data !== undefined) return <>{children(asked.data)}</>
  // Nothing failed, and another try would not find it either.
  if (asked.error instanceof ApiFailure && asked.error.status === 404)
    return <Empty title={`Could not find ${what}`}>{asked.error.message} It was deleted, or the link is incomplete.</Empty>
  if (asked.error) return <FailureNote error={asked.error} title={`Could not load ${what}`} onRetry={() => void asked.refetch()} />
  return <Outline label={`Loading ${what}…`} />
}

const widths = ['70%', '45%', '60%', '50%', '75%', '40%']

/** Rows as high as those of a table. Appears after a moment, so that what loads fast does not flicker. */
export const Outline = ({ label }: { label: string }) => (
  <Paper withBorder role="status" className="outline appears-late">
    <span className="for-readers-only">{label}</span>
    {widths.map((width) => (
      <div key={width} className="outline-row" aria-hidden="true">
        <Skeleton h={14} w={width} />
        <Skeleton h={14} w="60%" />
        <Skeleton h={14} w="40%" />
      </div>
    ))}
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
