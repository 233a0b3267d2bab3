/** The end users of an owner's agents that cost most in a month. */
import { Anchor, SegmentedControl, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { readAmount } from '../../api/amounts.ts'
import { maxRead } from '../../api/lists.ts'
import { readLines } from '../../api/spend.ts'
import type { UsageLine } from '../../api/types.ts'
import { ListTable } from '../../show/list-table.tsx'
import { writeCount } from '../../show/measures.ts'
import { Money } from '../../show/money.tsx'
import { Panel } from '../../show/panel.tsx'
import { AgentCell } from '../../show/turn-cells.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { spanOf, writeAsked } from '../../show/usage-range.ts'

const maxShown = 8
type Month = 'month' | 'last-month'

export function EndUserSpend({ ownerId }: { ownerId: string }) {
  const [month, setMonth] = useState<Month>('month')
  const span = spanOf({ range: month, from: '', to: '' }, Date.now())
  const query = { group_by: 'end_user', owner_id: ownerId, ...('from' in span ? { from: span.from, to: span.to } : {}) }
  const lines = useQuery({ queryKey: ['usage', 'lines', query], queryFn: ({ signal }) => readLines(query, signal) })
  return (
    <Panel
      title="Top end users"
      aside={
        <SegmentedControl
          size="xs"
          aria-label="Month"
          value={month}
          data={[
            { value: 'month', label: 'This month' },
            { value: 'last-month', label: 'Last month' },
          ]}
          onChange={(value) => setMonth(value as Month)}
        />
      }
    >
      <Waiting for={lines} what="end users">
        {(found) => <Users lines={found} ownerId={ownerId} month={month} />}
      </Waiting>
    </Panel>
  )
}

function Users({ lines, ownerId, month }: { lines: UsageLine[]; ownerId: string; month: Month }) {
  const named = lines.filter(({ external_user_id: user }) => user !== null)
  const spend = ({ charged_usd: charged }: UsageLine): number => Number(readAmount(charged) ?? 0n)
  const top = named.toSorted((one, other) => spend(other) - spend(one)).slice(0, maxShown)
  if (top.length === 0)
    return (
      <Text size="sm" c="dimmed" className="panel-body">
        No end user has caused a charge in this month.
      </Text>
    )
  const hrefOf = ({ agent_id: agentId, external_user_id: user }: UsageLine): string =>
    `/usage?${writeAsked({ range: month, from: '', to: '', ownerId, agentId, keyId: null, externalUserId: user })}`
  return (
    <>
      <ListTable minWidth={440} aria-label="End users by spend" horizontalSpacing="md">
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">End user</Table.Th>
            <Table.Th scope="col">Agent</Table.Th>
            <Table.Th scope="col" ta="right">
              Turns
            </Table.Th>
            <Table.Th scope="col" ta="right">
              Spend
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {top.map((line) => (
            // The API keys of an agent share its end users, and agents do not.
            <Table.Tr key={`${line.agent_id} ${line.external_user_id}`}>
              <Table.Th scope="row" fw={400}>
                <Anchor component={Link} href={hrefOf(line)} inherit className="as-written">
                  {line.external_user_id}
                </Anchor>
              </Table.Th>
              <AgentCell agentId={line.agent_id ?? ''} />
              <Table.Td ta="right" className="figures">
                {writeCount(line.turns)}
              </Table.Td>
              <Table.Td ta="right">
                <Money amount={line.charged_usd} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </ListTable>
      {lines.length >= maxRead ? (
        <Text size="xs" c="dimmed" className="panel-body">
          Of the first {writeCount(maxRead)} end users by agent. The list of one agent is complete.
        </Text>
      ) : null}
    </>
  )
}
