/** The page of something that belongs to an agent: a choice of agents, each of which leads to its tab. With one agent it is opened. */
import { Anchor, Button, Group, Stack, Table, Text } from '@mantine/core'
import { Link, Redirect, useLocation } from 'wouter'
import { segment } from '../api/client.ts'
import { useAgents } from '../api/lists.ts'
import { AgentSelect } from './agent-select.tsx'
import { Allowed } from './allowed.tsx'
import { Empty } from './empty.tsx'
import { ListTable } from './list-table.tsx'
import { Page } from './page.tsx'
import { Waiting } from './waiting.tsx'
import { EnabledBadge } from './enabled-badge.tsx'

// More of them are chosen by name.
const maxListed = 20

type ChooseAgentProps = { title: string; lead: string; tab: 'knowledge' | 'keys'; empty: string }

export function ChooseAgent({ title, lead, tab, empty }: ChooseAgentProps) {
  const [, navigate] = useLocation()
  const agents = useAgents()
  const hrefOf = (id: string): string => `/agents/${segment(id)}/${tab}`
  const [only, ...others] = agents.data ?? []
  if (only && others.length === 0) return <Redirect to={hrefOf(only.id)} replace />
  return (
    <Page title={title} lead={lead}>
      <Waiting for={agents} what="agents">
        {(known) =>
          known.length === 0 ? (
            <Empty
              title="No agents yet"
              action={
                <Allowed permission="agents">
                  <Button component={Link} href="/agents/new">
                    Create agent
                  </Button>
                </Allowed>
              }
            >
              {empty}
            </Empty>
          ) : (
            <Stack gap="md">
              <AgentSelect value={null} onChange={(id) => id !== null && navigate(hrefOf(id))} />
              <ListTable minWidth={480} aria-label="Agents" highlightOnHover>
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th scope="col">Agent</Table.Th>
                    <Table.Th scope="col">Model</Table.Th>
                    <Table.Th scope="col">Status</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {known.slice(0, maxListed).map((agent) => (
                    <Table.Tr key={agent.id}>
                      <Table.Th scope="row" fw={500}>
                        <Anchor component={Link} href={hrefOf(agent.id)} inherit className="as-written">
                          {agent.name}
                        </Anchor>
                      </Table.Th>
                      <Table.Td>
                        <Text span size="sm" ff="monospace" className="as-written">
                          {agent.model}
                        </Text>
                      </Table.Td>
                      <Table.Td>
                        <EnabledBadge enabled={agent.enabled} />
                      </Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </ListTable>
              {known.length > maxListed ? (
                <Group>
                  <Text size="sm" c="dimmed">
                    Showing the first {maxListed} of {known.length} agents. Choose another one by its name.
                  </Text>
                </Group>
              ) : null}
            </Stack>
          )
        }
      </Waiting>
    </Page>
  )
}
