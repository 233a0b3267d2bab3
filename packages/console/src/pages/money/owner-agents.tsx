/** The agents whose replies an owner pays for, with what they cost in 30 days. */
import { Anchor, Table } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import { useAgents } from '../../api/lists.ts'
import { readLines } from '../../api/spend.ts'
import { Empty } from '../../show/empty.tsx'
import { writeCount } from '../../show/measures.ts'
import { Money } from '../../show/money.tsx'
import { Panel } from '../../show/panel.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { ListTable } from '../../show/list-table.tsx'
import { spanOf } from '../../show/usage-range.ts'

export function OwnerAgents({ ownerId }: { ownerId: string }) {
  const agents = useAgents()
  const span = spanOf({ range: '30d', from: '', to: '' }, Date.now())
  const query = { group_by: 'agent', owner_id: ownerId, from: 'from' in span ? span.from : '' }
  const lines = useQuery({ queryKey: ['usage', 'lines', query], queryFn: ({ signal }) => readLines(query, signal) })
  return (
    <Panel title="Agents" note="last 30 days">
      <Waiting for={agents} what="agents">
        {(all) => {
          const paid = all.filter(({ owner_id: payer }) => payer === ownerId)
          if (paid.length === 0)
            return (
              <Empty title="No agents yet">
                <Anchor component={Link} href="/agents/new">
                  Create an agent
                </Anchor>{' '}
                and choose this owner.
              </Empty>
            )
          return (
            <ListTable minWidth={480} aria-label="Agents of this owner" horizontalSpacing="md">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th scope="col">Agent</Table.Th>
                  <Table.Th scope="col">Model</Table.Th>
                  <Table.Th scope="col">Status</Table.Th>
                  <Table.Th scope="col" ta="right">
                    Turns
                  </Table.Th>
                  <Table.Th scope="col" ta="right">
                    Spend
                  </Table.Th>
                  <Table.Th scope="col">Usage</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {paid.map(({ id, name, model, enabled }) => {
                  const line = lines.data?.find(({ agent_id: agentId }) => agentId === id)
                  return (
                    <Table.Tr key={id}>
                      <Table.Th scope="row" fw={500}>
                        <Anchor component={Link} inherit href={`/agents/${segment(id)}`} className="as-written">
                          {name}
                        </Anchor>
                      </Table.Th>
                      <Table.Td className="as-written">{model}</Table.Td>
                      <Table.Td>{enabled ? 'Enabled' : 'Disabled'}</Table.Td>
                      <Table.Td ta="right" className="figures">
                        {lines.data ? writeCount(line?.turns ?? 0) : '…'}
                      </Table.Td>
                      <Table.Td ta="right">{lines.data ? <Money amount={line?.charged_usd ?? '0.00000000'} /> : '…'}</Table.Td>
                      <Table.Td>
                        <Anchor
                          component={Link}
                          inherit
                          href={`/usage?range=30d&agent_id=${segment(id)}`}
                          aria-label={`View usage of ${name}`}
                        >
                          View usage
                        </Anchor>
                      </Table.Td>
                    </Table.Tr>
                  )
                })}
              </Table.Tbody>
            </ListTable>
          )
        }}
      </Waiting>
    </Panel>
  )
}
