/** What was not read of a document: a search finds only the rest. */
import { Text } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import type { Document } from '../../api/types.ts'

export function DocumentWarnings({ document: { warnings } }: { document: Document }) {
  return warnings.map(({ kind, message }) => (
    <Text key={kind} span display="block" size="xs" c="var(--tk-warn)">
      <IconAlertTriangle size={14} aria-label="Warning" style={{ verticalAlign: '-2px' }} /> {message}
    </Text>
  ))
}
