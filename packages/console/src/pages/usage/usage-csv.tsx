/** Downloads the usage of the range as CSV, grouped as chosen. The server writes it; the page only names the file. */
import { Button, Group, Select } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { send } from '../../api/client.ts'
import type { Query } from '../../api/client.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { Panel } from '../../show/panel.tsx'
import { saveFile } from '../../show/save-file.ts'

const groupings = [
  { value: 'day,api_key', label: 'Day and API key' },
  { value: 'month,agent', label: 'Month and agent' },
  { value: 'month,owner', label: 'Month and owner' },
  { value: 'end_user', label: 'End user' },
]

/** `range` has the same filters as the report, without its buckets. */
export function UsageCsv({ range }: { range: Query }) {
  const [groupBy, setGroupBy] = useState(groupings[0]!.value)
  const download = useMutation({
    mutationFn: async () => {
      const response = await send('/usage', { query: { ...range, group_by: groupBy }, headers: { Accept: 'text/csv' } })
      saveFile(await response.blob(), `usage-by-${groupBy.replaceAll(/[,_]/g, '-')}.csv`)
    },
  })
  return (
    <Panel title="Export" note="of this range and these filters">
      <Group align="flex-end" className="panel-body">
        <Select
          label="CSV lines by"
          data={groupings}
          value={groupBy}
          allowDeselect={false}
          onChange={(value) => setGroupBy(value ?? groupBy)}
        />
        <Button variant="default" loading={download.isPending} onClick={() => download.mutate()}>
          Download CSV
        </Button>
      </Group>
      {download.error ? (
        <div className="panel-body">
          <FailureNote error={download.error} title="Could not download the usage" />
        </div>
      ) : null}
    </Panel>
  )
}
