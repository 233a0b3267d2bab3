/** Conversations as a list. Each row leads to its transcript. */
import { Anchor, Table, Text } from '@mantine/core'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import { useAgents } from '../../api/lists.ts'
import type { Conversation } from '../../api/types.ts'
import { writeCount } from '../../show/measures.ts'
import { Moment } from '../../show/moment.tsx'
import { ListTable } from '../../show/list-table.tsx'

export function ConversationTable({ conversations }: { conversations: Conversation[] }) {
  const agents = useAgents()
  // A deleted agent is in no list, so its ID is shown.
  const nameOf = (id: string): string => agents.data?.find((agent) => agent.id === id)?.name ?? id
  return (
    <ListTable minWidth={720} verticalSpacing="xs" aria-label="Conversations, newest first">
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">External user</Table.Th>
          <Table.Th scope="col">Agent</Table.Th>
          <Table.Th scope="col" ta="right">
            Messages
          </Table.Th>
          <Table.Th scope="col">Last activity</Table.Th>
          <Table.Th scope="col">Started</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {conversations.map(
          ({ id, agent_id: agentId, external_user_id: user, message_count: count, last_message_at: last, created_at: began }) => (
            <Table.Tr key={id}>
              <Table.Th scope="row" fw={500} maw={320}>
                <Anchor component={Link} href={`/conversations/${segment(id)}`} inherit className="as-written">
                  {user ?? 'Erased'}
                </Anchor>
                {user === null ? (
                  <Text size="xs" c="dimmed" fw={400}>
                    Text removed; usage and charges kept.
                  </Text>
                ) : null}
              </Table.Th>
              <Table.Td className="as-written" maw={240}>
                {nameOf(agentId)}
              </Table.Td>
              <Table.Td ta="right" className="figures">
                {writeCount(count)}
              </Table.Td>
              <Table.Td>
                <Moment at={last} />
              </Table.Td>
              <Table.Td>
                <Moment at={began} />
              </Table.Td>
            </Table.Tr>
          ),
        )}
      </Table.Tbody>
    </ListTable>
  )
}
