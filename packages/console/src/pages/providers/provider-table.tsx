/** One row per provider. */
import { Anchor, Button, Group, Table, Text } from '@mantine/core'
import { Link } from 'wouter'
import type { Agent, Provider } from '../../api/types.ts'
import { IdText } from '../../show/id-text.tsx'
import { Moment } from '../../show/moment.tsx'
import { labelOfKind } from './kinds.ts'
import { agentsOn } from './used-by.ts'
import { ListTable } from '../../show/list-table.tsx'
import { Allowed } from '../../show/allowed.tsx'

/** The action of a row. The page opens a dialog for it. */
export type Doing = { what: 'test' | 'change' | 'delete'; provider: Provider }

type ProviderTableProps = { providers: Provider[]; agents: Agent[] | undefined; onDo: (doing: Doing) => void }

export function ProviderTable({ providers, agents, onDo }: ProviderTableProps) {
  return (
    <ListTable minWidth={820} verticalSpacing="sm" aria-label="Providers">
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">Name</Table.Th>
          <Table.Th scope="col">Kind and base URL</Table.Th>
          <Table.Th scope="col">Used by</Table.Th>
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
            <Table.Td>
              <Moment at={provider.updated_at} />
            </Table.Td>
            <Table.Td>
              <Group gap="xs" justify="flex-end" wrap="nowrap">
                <Allowed permission="providers">
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
