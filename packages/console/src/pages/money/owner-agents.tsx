/** The agents whose replies an owner pays for. */
import { Anchor, Box, Table, Title } from '@mantine/core'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import { useAgents } from '../../api/lists.ts'
import { Empty } from '../../show/empty.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { ListTable } from '../../show/list-table.tsx'

export function OwnerAgents({ ownerId }: { ownerId: string }) {
  const agents = useAgents()
  return (
    <Box component="section" aria-labelledby="agents-paid">
      <Title order={2} size="h4" mb="xs" id="agents-paid">
        Agents
      </Title>
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
            <ListTable minWidth={480} aria-label="Agents of this owner">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th scope="col">Agent</Table.Th>
                  <Table.Th scope="col">Model</Table.Th>
                  <Table.Th scope="col">Status</Table.Th>
                  <Table.Th scope="col">Usage</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {paid.map(({ id, name, model, enabled }) => (
                  <Table.Tr key={id}>
                    <Table.Th scope="row" fw={500}>
                      <Anchor component={Link} inherit href={`/agents/${segment(id)}`} className="as-written">
                        {name}
                      </Anchor>
                    </Table.Th>
                    <Table.Td className="as-written">{model}</Table.Td>
                    <Table.Td>{enabled ? 'Enabled' : 'Disabled'}</Table.Td>
                    <Table.Td>
                      <Anchor component={Link} inherit href={`/usage?agent_id=${segment(id)}`} aria-label={`View usage of ${name}`}>
                        View usage
                      </Anchor>
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </ListTable>
          )
        }}
      </Waiting>
    </Box>
  )
}
