/** The agents whose replies an owner pays for. */
import { Anchor, Box, Table, Title } from '@mantine/core'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import { useAgents } from '../../api/lists.ts'
import { Empty } from '../../show/empty.tsx'
import { Waiting } from '../../show/waiting.tsx'

export function OwnerAgents({ ownerId }: { ownerId: string }) {
  const agents = useAgents()
  return (
    <Box component="section" aria-labelledby="agents-paid">
      <Title order={2} size="h4" mb="xs" id="agents-paid">
        Agents it pays for
      </Title>
      <Waiting for={agents} what="agents">
        {(all) => {
          const paid = all.filter(({ owner_id: payer }) => payer === ownerId)
          if (paid.length === 0)
            return (
              <Empty title="It pays for no agent yet">
                <Anchor component={Link} href="/agents/new">
                  Create an agent
                </Anchor>{' '}
                and choose this owner.
              </Empty>
            )
          return (
            <Table.ScrollContainer minWidth={480}>
              <Table aria-label="Agents that the owner pays for">
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th scope="col">Agent</Table.Th>
                    <Table.Th scope="col">Model</Table.Th>
                    <Table.Th scope="col">State</Table.Th>
                    <Table.Th scope="col">More</Table.Th>
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
                      <Table.Td>{enabled ? 'On' : 'Switched off'}</Table.Td>
                      <Table.Td>
                        <Anchor component={Link} inherit href={`/usage?agent_id=${segment(id)}`} aria-label={`Usage of ${name}`}>
                          Usage
                        </Anchor>
                      </Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </Table>
            </Table.ScrollContainer>
          )
        }}
      </Waiting>
    </Box>
  )
}
