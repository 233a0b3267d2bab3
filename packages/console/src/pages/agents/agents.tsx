/** All agents with their owner, model, price, state, and the time of their current version. */
import { Anchor, Button, Table, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { Link } from 'wouter'
import { useAgents, useOwners } from '../../api/lists.ts'
import type { Agent, Owner } from '../../api/types.ts'
import { Empty } from '../../show/empty.tsx'
import { Moment } from '../../show/moment.tsx'
import { Money } from '../../show/money.tsx'
import { Page } from '../../show/page.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { EnabledBadge } from '../../show/enabled-badge.tsx'
import { ListTable } from '../../show/list-table.tsx'
import { Allowed } from '../../show/allowed.tsx'

// Fewer agents fit on one screen.
const worthSearching = 8

const create = (
  <Allowed permission="agents">
    <Button component={Link} href="/agents/new">
      Create agent
    </Button>
  </Allowed>
)

export function Agents() {
  const agents = useAgents()
  const owners = useOwners()
  return (
    <Page
      title="Agents"
      lead="An agent combines a system prompt, a knowledge base, tools, and a model. Its owner pays for its replies."
      actions={agents.data?.length ? create : null}
    >
      <Waiting for={agents} what="agents">
        {(data) =>
          data.length === 0 ? (
            <Empty title="No agents yet" action={create}>
              An agent replies to the messages that your programs send with its API keys.
            </Empty>
          ) : (
            <AgentList agents={data} owners={owners.data ?? []} />
          )
        }
      </Waiting>
    </Page>
  )
}

function AgentList({ agents, owners }: { agents: Agent[]; owners: Owner[] }) {
  const [wanted, setWanted] = useState('')
  const nameOf = new Map(owners.map(({ id, name }) => [id, name]))
  const found = agents.filter(({ id, name, model, owner_id: ownerId }) =>
    [id, name, model, nameOf.get(ownerId) ?? ''].some((text) => text.toLowerCase().includes(wanted.trim().toLowerCase())),
  )
  return (
    <>
      {agents.length > worthSearching ? (
        <TextInput
          label="Search agents"
          placeholder="Name, owner, model, or ID"
          value={wanted}
          onChange={(event) => setWanted(event.currentTarget.value)}
          maw={320}
        />
      ) : null}
      <ListTable minWidth={880} aria-label="Agents" verticalSpacing="sm" highlightOnHover>
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">Name</Table.Th>
            <Table.Th scope="col">Owner</Table.Th>
            <Table.Th scope="col">Model</Table.Th>
            <Table.Th scope="col">Price (in / out)</Table.Th>
            <Table.Th scope="col">Status</Table.Th>
            <Table.Th scope="col">Version</Table.Th>
            <Table.Th scope="col">Updated</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {found.map((agent) => (
            <Table.Tr key={agent.id}>
              <Table.Th scope="row" fw={600} maw={280}>
                <Anchor component={Link} href={`/agents/${agent.id}`} inherit className="as-written">
                  {agent.name}
                </Anchor>
              </Table.Th>
              <Table.Td maw={200}>
                <Anchor component={Link} href={`/money/${agent.owner_id}`} inherit className="as-written">
                  {nameOf.get(agent.owner_id) ?? agent.owner_id}
                </Anchor>
              </Table.Td>
              <Table.Td maw={320} miw={140}>
                <Text span size="sm" ff="monospace" className="as-written">
                  {agent.model}
                </Text>
              </Table.Td>
              <Table.Td>
                <Money amount={agent.price.prompt_usd_per_million} /> / <Money amount={agent.price.completion_usd_per_million} />
              </Table.Td>
              <Table.Td>
                <EnabledBadge enabled={agent.enabled} />
              </Table.Td>
              <Table.Td className="figures">{agent.version}</Table.Td>
              <Table.Td>
                <Moment at={agent.updated_at} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </ListTable>
      {found.length === 0 ? <Text c="dimmed">No agents match “{wanted}”.</Text> : null}
    </>
  )
}
