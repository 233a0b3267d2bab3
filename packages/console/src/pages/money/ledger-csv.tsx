/** Downloads a whole ledger as CSV. The server writes it; the page only names the file. */
import { Button, Stack } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { segment, send } from '../../api/client.ts'
import type { Owner } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { saveFile, slugOf } from '../../show/save-file.ts'

export function LedgerCsv({ owner }: { owner: Owner }) {
  const download = useMutation({
    mutationFn: async () => {
      const response = await send(`/owners/${segment(owner.id)}/ledger`, { headers: { Accept: 'text/csv' } })
      saveFile(await response.blob(), fileName(owner.name))
    },
  })
  return (
    <Stack gap="xs" align="flex-end">
      <Button size="xs" variant="default" loading={download.isPending} onClick={() => download.mutate()}>
        Download CSV
      </Button>
      <FailureNote error={download.error} title="Could not download the ledger" />
    </Stack>
  )
}

/** The owner and the day in the viewer's time zone: `acme-ltd-ledger-2026-11-21.csv`. */
function fileName(ownerName: string, now = new Date()): string {
  const day = [now.getFullYear(), now.getMonth() + 1, now.getDate()].map((part) => String(part).padStart(2, '0')).join('-')
  return `${slugOf(ownerName) || 'owner'}-ledger-${day}.csv`
}
