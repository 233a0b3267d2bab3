/** Downloads the entries of the filters as CSV. The server writes it; the page only names the file. */
import { Button, Stack } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { send } from '../../api/client.ts'
import type { Query } from '../../api/client.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { saveFile } from '../../show/save-file.ts'

export function AuditCsv({ query }: { query: Query }) {
  const download = useMutation({
    mutationFn: async () => {
      const response = await send('/audit', { query, headers: { Accept: 'text/csv' } })
      saveFile(await response.blob(), 'audit-log.csv')
    },
  })
  return (
    <Stack gap="xs" align="flex-start">
      <Button variant="default" loading={download.isPending} onClick={() => download.mutate()}>
        Download CSV
      </Button>
      <FailureNote error={download.error} title="Could not download the audit log" />
    </Stack>
  )
}
