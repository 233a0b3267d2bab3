/** What an entry of the audit log changed: each field with its value before and after. Of other fields, only the name may be known. */
import { Stack, Text } from '@mantine/core'
import type { AuditEntry } from '../../api/types.ts'

export function AuditChanges({ entry: { fields, changes } }: { entry: AuditEntry }) {
  if (fields.length === 0) return <Text size="sm">–</Text>
  return (
    <Stack gap={2}>
      {fields.map((field) => (
        <Text key={field} size="sm" className="as-written" style={{ overflowWrap: 'anywhere' }}>
          <Change field={field} change={changes?.[field]} />
        </Text>
      ))}
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
