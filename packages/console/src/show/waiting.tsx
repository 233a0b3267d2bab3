/** What is shown while data is loading, or if it could not be loaded. */
import { Group, Loader, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { FailureNote } from './failure-note.tsx'

type Asked<Data> = { data: Data | undefined; error: Error | null; refetch(): unknown }

/**
 * `children` receives the data. Before that, a line says that it is loading or why it failed. Loaded data stays visible while it is loaded
 * again.
 */
export function Waiting<Data>({ for: asked, what, children }: { for: Asked<Data>; what: string; children: (data: Data) => ReactNode }) {
  if (asked.data !== undefined) return <>{children(asked.data)}</>
  if (asked.error) return <FailureNote error={asked.error} title={`Could not load ${what}`} onRetry={() => void asked.refetch()} />
  return (
    <Group gap="xs" py="md" role="status">
      <Loader size="sm" aria-hidden />
      <Text c="dimmed">Loading {what}…</Text>
    </Group>
  )
}
