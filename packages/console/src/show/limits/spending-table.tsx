/** How much of each limit's current window is used, by whom, and when it starts again. The fullest comes first. */
import { Anchor, Group, Progress, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import { keysQuery } from '../../api/lists.ts'
import type { Key, Spending } from '../../api/types.ts'
import { ListTable } from '../list-table.tsx'
import { Moment } from '../moment.tsx'
import { Money } from '../money.tsx'
import { labelOf, scopes, windows } from './limit-names.ts'
import { levelOf, usedAmount, usedPercent } from './used-percent.ts'

export function SpendingTable({ agentId, rows }: { agentId: string; rows: Spending[] }) {
  const keys = useQuery({ ...keysQuery(agentId), enabled: rows.some(({ key_id: keyId }) => keyId !== null) })
  const sorted = rows.toSorted((one, other) => usedPercent(other) - usedPercent(one))
  return (
    <ListTable minWidth={560} aria-label="Spent in the current windows" horizontalSpacing="md">
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">Who</Table.Th>
          <Table.Th scope="col">Window</Table.Th>
          <Table.Th scope="col" w="45%">
            Used
          </Table.Th>
          <Table.Th scope="col">Resets</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {sorted.map((row) => (
          <SpendingRow
            key={`${row.scope} ${row.window} ${row.key_id} ${row.external_user_id}`}
            agentId={agentId}
            row={row}
            keys={keys.data}
          />
        ))}
      </Table.Tbody>
    </ListTable>
  )
}

const colors = { full: 'var(--tk-bad)', near: 'var(--tk-warn)', fine: 'var(--tk-text)' }
const barColors = { full: 'var(--tk-bad)', near: 'var(--tk-retrieval)', fine: 'var(--tk-accent)' }
const nothing = '0.00000000'

function SpendingRow({ agentId, row, keys }: { agentId: string; row: Spending; keys: Key[] | undefined }) {
  const percent = usedPercent(row)
  const level = levelOf(percent)
  const {
    scope,
    window,
    key_id: keyId,
    external_user_id: user,
    limit_usd: limit,
    held_usd: held,
    unpaid_usd: unpaid,
    ends_at: endsAt,
  } = row
  const who = user ?? keys?.find(({ id }) => id === keyId)?.name ?? keyId ?? labelOf(scopes, scope)
  return (
    <Table.Tr>
      <Table.Td>
        {user === null ? (
          <Text inherit span className="as-written">
            {who}
          </Text>
        ) : (
          <Anchor
            component={Link}
            href={`/end-users/${segment(agentId)}/one?external_user_id=${encodeURIComponent(user)}`}
            inherit
            className="as-written"
          >
            {who}
          </Anchor>
        )}
        {scope === 'agent' ? null : (
          <Text size="xs" c="dimmed">
            {scope === 'api_key' ? 'API key' : 'End user'}
          </Text>
        )}
      </Table.Td>
      <Table.Td>{labelOf(windows, window)}</Table.Td>
      <Table.Td>
        <Group justify="space-between" gap="xs" mb={4}>
          <Text size="xs" fw={level === 'fine' ? 400 : 600} c={colors[level]}>
            {percent}%{level === 'full' ? ', reached' : ''}
          </Text>
          <Text size="xs" c="dimmed" span>
            <Money amount={usedAmount(row)} /> of <Money amount={limit} />
          </Text>
        </Group>
        <Progress value={Math.min(100, percent)} color={barColors[level]} aria-label={`Used: ${who}, ${labelOf(windows, window)}`} />
        {held === nothing && unpaid === nothing ? null : (
          <Text size="xs" c="dimmed" mt={4} component="div">
            including <Money amount={held} /> held for running turns and <Money amount={unpaid} /> unpaid
          </Text>
        )}
      </Table.Td>
      <Table.Td>{endsAt === null ? 'never' : <Moment at={endsAt} />}</Table.Td>
    </Table.Tr>
  )
}
