/** One row per provider. */
import { Anchor, Badge, Button, Group, Table, Text } from '@mantine/core'
import { Link } from 'wouter'
import type { Agent, Provider, Turn } from '../../api/types.ts'
import { IdText } from '../../show/id-text.tsx'
import { Moment } from '../../show/moment.tsx'
import { Since } from '../../show/since.tsx'
import { segment } from '../../api/client.ts'
import { failingProviders, turnsOfCurrent } from './health.ts'
import { labelOfKind } from './kinds.ts'
import { agentsOn } from './used-by.ts'
import { ListTable } from '../../show/list-table.tsx'
import { Allowed } from '../../show/allowed.tsx'

/** The action of a row. The page opens a dialog for it. */
export type Doing = { what: 'test' | 'models' | 'change' | 'delete'; provider: Provider }

/** `turns`: the newest ones, of all providers. */
type ProviderTableProps = { providers: Provider[]; agents: Agent[] | undefined; turns: Turn[] | undefined; onDo: (doing: Doing) => void }

export function ProviderTable({ providers, agents, turns, onDo }: ProviderTableProps) {
  return (
    <ListTable minWidth={820} verticalSpacing="sm" aria-label="Providers">
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">Name</Table.Th>
          <Table.Th scope="col">Kind and base URL</Table.Th>
          <Table.Th scope="col">Used by</Table.Th>
          <Table.Th scope="col">Recent turns</Table.Th>
          <Table.Th scope="col">Updated</Table.Th>
          <Table.Th scope="col">
            <span className="for-readers-only">Actions</span>
          </Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {providers.map((provider) => (
          <Table.Tr key={provider.id}>
            <Table.Th scope="row">
              {provider.name}
              <div>
                <IdText id={provider.id} />
              </div>
            </Table.Th>
            <Table.Td>
              {labelOfKind(provider.kind)}
              {provider.base_url ? (
                <Text size="xs" c="dimmed" className="as-written">
                  {provider.base_url}
                </Text>
              ) : null}
            </Table.Td>
            <Table.Td>
              <UsedBy agents={agents && agentsOn(provider.name, agents)} />
            </Table.Td>
            <Table.Td maw={280}>
              <Health provider={provider.name} agents={agents} turns={turns} />
            </Table.Td>
            <Table.Td>
              <Moment at={provider.updated_at} />
            </Table.Td>
            <Table.Td>
              <Group gap="xs" justify="flex-start">
                <Allowed permission="providers">
                  <Button
                    size="xs"
                    variant="default"
                    aria-label={`Models of ${provider.name}`}
                    onClick={() => onDo({ what: 'models', provider })}
                  >
                    Models
                  </Button>
                  <Button size="xs" variant="default" aria-label={`Test ${provider.name}`} onClick={() => onDo({ what: 'test', provider })}>
                    Test
                  </Button>
                  <Button
                    size="xs"
                    variant="default"
                    aria-label={`Edit ${provider.name}`}
                    onClick={() => onDo({ what: 'change', provider })}
                  >
                    Edit
                  </Button>
                </Allowed>
                <Allowed permission="provider_keys">
                  <Button
                    size="xs"
                    variant="outline"
                    color="red"
                    aria-label={`Delete ${provider.name}`}
                    onClick={() => onDo({ what: 'delete', provider })}
                  >
                    Delete
                  </Button>
                </Allowed>
              </Group>
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </ListTable>
  )
}

type HealthProps = { provider: string; agents: Agent[] | undefined; turns: Turn[] | undefined }

function Health({ provider, agents, turns }: HealthProps) {
  if (!agents || !turns) return <>…</>
  const own = turnsOfCurrent(turns, agentsOn(provider, agents))
  const [failing] = failingProviders(own, agents)
  if (failing)
    return (
      <div>
        <Badge color="red">Failing</Badge>{' '}
        <Text span size="xs" c="dimmed">
          since <Since at={failing.since} />
        </Text>
        <Text size="xs" c="red" className="as-written">
          {failing.cause}, {failing.failed} of the last {failing.of}
          {failing.words ? `: ${failing.words}` : ''}
        </Text>
        <Allowed permission="conversations">
          <Anchor component={Link} href={`/turns/${segment(failing.requestId)}`} size="xs" underline="always">
            Open trace
          </Anchor>
        </Allowed>
      </div>
    )
  if (own.length === 0)
    return (
      <Text size="sm" c="dimmed">
        None recently
      </Text>
    )
  return <Badge color="teal">Working</Badge>
}

// More would make the row too long.
const maxShown = 3

/** Undefined: not known yet. */
function UsedBy({ agents }: { agents: Agent[] | undefined }) {
  if (!agents) return <>…</>
  if (agents.length === 0)
    return (
      <Text c="dimmed" inherit>
        No agents
      </Text>
    )
  return (
    <>
      {agents.slice(0, maxShown).map(({ id, name }) => (
        <Anchor key={id} component={Link} href={`/agents/${id}`} display="block" underline="always" inherit>
          {name}
        </Anchor>
      ))}
      {agents.length > maxShown ? <Text size="sm">and {agents.length - maxShown} more</Text> : null}
    </>
  )
}
