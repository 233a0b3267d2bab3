/** Downloads the shown entries of a ledger as CSV. The server writes it; the page only names the file. */
import { Button, Stack } from '@mantine/core'
import { IconDownload } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { segment, send } from '../../api/client.ts'
import type { Query } from '../../api/client.ts'
import type { Owner } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { saveFile, slugOf } from '../../show/save-file.ts'

/** `query`: the filters, of which the days are a part of the name. */
export function LedgerCsv({ owner, query, days }: { owner: Owner; query: Query; days: { from: string; to: string } }) {
  const download = useMutation({
    mutationFn: async () => {
      const response = await send(`/owners/${segment(owner.id)}/ledger`, { query, headers: { Accept: 'text/csv' } })
      saveFile(await response.blob(), fileName(owner.name, days))
    },
  })
  return (
    <Stack gap="xs" align="flex-end">
      <Button
        size="xs"
        variant="default"
        leftSection={<IconDownload size={14} aria-hidden />}
        loading={download.isPending}
        onClick={() => download.mutate()}
      >
        Download CSV
      </Button>
      <FailureNote error={download.error} title="Could not download the ledger" />
    </Stack>
  )
}

/** The owner and the days, or the present day in the viewer's time zone: `acme-ltd-ledger-2026-11-21.csv`. */
function fileName(ownerName: string, { from, to }: { from: string; to: string }, now = new Date()): string {
  const today = [now.getFullYear(), now.getMonth() + 1, now.getDate()].map((part) => String(part).padStart(2, '0')).join('-')
  const days = [from, to].filter((day) => day !== '').join('-to-')
  return `${slugOf(ownerName) || 'owner'}-ledger-${days || today}.csv`
}
