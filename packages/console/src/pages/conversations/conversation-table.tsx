/** Conversations as a list. Each row opens its conversation, at the turn that was searched for if there is one. */
import { Anchor, Box, Group, Table, Text } from '@mantine/core'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import { useAgents, useOwners } from '../../api/lists.ts'
import type { ListedConversation } from '../../api/types.ts'
import { RatingIcon } from '../../show/feedback.tsx'
import { Highlighted } from '../../show/highlighted.tsx'
import { ListTable } from '../../show/list-table.tsx'
import { writeCount } from '../../show/measures.ts'
import { Moment } from '../../show/moment.tsx'
import { plainText } from '../../show/plain-text.ts'
import { StateBadge } from '../../show/state-badge.tsx'
import { isSearch } from './filter-query.ts'
import type { Filters } from './filter-query.ts'

type TableProps = { conversations: ListedConversation[]; filters: Filters }

export function ConversationTable({ conversations, filters }: TableProps) {
  const agents = useAgents()
  const owners = useOwners()
  /** With the owner, if there are several. A deleted agent is in no list, so its ID is shown. */
  const nameOf = (id: string): string => {
    const agent = agents.data?.find((one) => one.id === id)
    const owner = (owners.data?.length ?? 0) > 1 ? owners.data?.find((one) => one.id === agent?.owner_id) : undefined
    return owner ? `${agent!.name} · ${owner.name}` : (agent?.name ?? id)
  }
  return (
    <ListTable minWidth={820} verticalSpacing="sm" highlightOnHover aria-label="Conversations, newest first">
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">End user</Table.Th>
          <Table.Th scope="col">{isSearch(filters) ? 'Found turn' : 'Last turn'}</Table.Th>
          <Table.Th scope="col" ta="right">
            Messages
          </Table.Th>
          <Table.Th scope="col">Last message</Table.Th>
          <Table.Th scope="col" aria-sort="descending" style={{ whiteSpace: 'nowrap' }}>
            Started ↓
          </Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {conversations.map((conversation) => (
          <Row key={conversation.id} conversation={conversation} agentName={nameOf(conversation.agent_id)} filters={filters} />
        ))}
      </Table.Tbody>
    </ListTable>
  )
}

function Row({ conversation, agentName, filters }: { conversation: ListedConversation; agentName: string; filters: Filters }) {
  const { id, external_user_id: user, turn } = conversation
  const at =
    isSearch(filters) && turn ? `?${String(new URLSearchParams({ turn: turn.request_id, ...(filters.q ? { q: filters.q } : {}) }))}` : ''
  return (
    <Table.Tr className="open-row">
      <Table.Th scope="row" fw={500} w={220} maw={260}>
        <Anchor component={Link} href={`/conversations/${segment(id)}${at}`} inherit className="as-written">
          {user ?? 'Erased'}
        </Anchor>
        <Text size="xs" c="dimmed" fw={400} className="as-name">
          {user === null ? 'Text removed; usage and charges kept.' : agentName}
        </Text>
      </Table.Th>
      <Table.Td>
        <FoundTurn turn={turn} wanted={filters.q} />
      </Table.Td>
      <Table.Td ta="right" className="figures">
        {writeCount(conversation.message_count)}
      </Table.Td>
      <Table.Td style={{ whiteSpace: 'nowrap' }}>
        <Moment at={conversation.last_message_at} />
      </Table.Td>
      <Table.Td style={{ whiteSpace: 'nowrap' }}>
        <Moment at={conversation.created_at} />
      </Table.Td>
    </Table.Tr>
  )
}

/** How it ended, what was thought of it, and the start of its text. */
function FoundTurn({ turn, wanted }: { turn: ListedConversation['turn']; wanted: string }) {
  if (turn === null) return <Text size="sm">–</Text>
  return (
    <Group gap="xs" wrap="nowrap" align="flex-start">
      {turn.status === 'completed' ? null : (
        <Box style={{ flex: 'none' }}>
          <StateBadge state={turn.status} />
        </Box>
      )}
      {turn.rating === null ? null : <RatingIcon rating={turn.rating} />}
      {turn.excerpt === null ? (
        turn.status === 'completed' && turn.rating === null ? (
          '–'
        ) : null
      ) : (
        <Text size="sm" lineClamp={2} className="excerpt">
          {turn.excerpt.role === 'user' ? (
            <Text span inherit c="dimmed">
              User:{' '}
            </Text>
          ) : null}
          <Highlighted text={plainText(turn.excerpt.text)} wanted={wanted} />
        </Text>
      )}
    </Group>
  )
}
