/** What an entry of the audit log changed: each field with its value before and after. Of other fields, only the name may be known. */
import { Button, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { AuditEntry } from '../../api/types.ts'

// What was just created has up to twenty fields, which would hide the other entries.
const shownFirst = 6

export function AuditChanges({ entry: { fields, changes } }: { entry: AuditEntry }) {
  const [isWhole, setIsWhole] = useState(false)
  const listed = isWhole ? fields : fields.slice(0, shownFirst)
  if (fields.length === 0) return <Text size="sm">–</Text>
  return (
    <Stack gap={2}>
      {listed.map((field) => (
        <Text key={field} size="sm" className="as-written" style={{ overflowWrap: 'anywhere' }}>
          <Change field={field} change={changes?.[field]} />
        </Text>
      ))}
      {listed.length < fields.length ? (
        <Button variant="subtle" size="compact-xs" style={{ alignSelf: 'flex-start' }} onClick={() => setIsWhole(true)}>
          Show all {fields.length} fields
        </Button>
      ) : null}
    </Stack>
  )
}

function Change({ field, change }: { field: string; change: { before: unknown; after: unknown } | undefined }) {
  if (!change) return <>{field}</>
  const { before, after } = change
  return (
    <>
      {field}: {before === null ? null : <del>{shown(before)}</del>}
      {before === null ? '' : ' → '}
      {after === null ? 'none' : <ins style={{ textDecoration: 'none' }}>{shown(after)}</ins>}
    </>
  )
}

const shown = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
