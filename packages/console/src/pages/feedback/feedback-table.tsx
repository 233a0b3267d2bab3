/** Feedback as a list. Each row leads to its turn and to the conversation. */
import { Anchor, Group, Table, Text } from '@mantine/core'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import type { Feedback } from '../../api/types.ts'
import { RatingBadge, TagList } from '../../show/feedback.tsx'
import { Moment } from '../../show/moment.tsx'
import { StateBadge } from '../../show/state-badge.tsx'
import { AgentCell } from '../../show/turn-cells.tsx'
import { ListTable } from '../../show/list-table.tsx'

export function FeedbackTable({ feedback }: { feedback: Feedback[] }) {
  return (
    <ListTable minWidth={760} verticalSpacing="xs" aria-label="Feedback, newest changes first">
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">Rating</Table.Th>
          <Table.Th scope="col">Comment and tags</Table.Th>
          <Table.Th scope="col">Agent</Table.Th>
          <Table.Th scope="col">Turn</Table.Th>
          <Table.Th scope="col">Changed</Table.Th>
          <Table.Th scope="col">Conversation</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {feedback.map(({ request_id: requestId, conversation_id: conversationId, rating, comment, tags, ...rest }) => (
          <Table.Tr key={requestId} style={{ verticalAlign: 'top' }}>
            <Table.Td>
              <RatingBadge rating={rating} />
            </Table.Td>
            <Table.Td miw={240} maw={420}>
              {comment === null && tags.length === 0 ? '–' : null}
              {comment === null ? null : (
                <Text size="sm" className="as-written">
                  {comment}
                </Text>
              )}
              {tags.length > 0 ? (
                <Group gap={4} mt={comment === null ? 0 : 4}>
                  <TagList tags={tags} />
                </Group>
              ) : null}
            </Table.Td>
            <AgentCell agentId={rest.agent_id} />
            <Table.Td>
              <Group gap="xs" wrap="nowrap">
                <StateBadge state={rest.state} />
                <OpenLink href={`/turns/${segment(requestId)}`} label={`Open turn ${requestId}`} />
              </Group>
            </Table.Td>
            <Table.Td>
              <Moment at={rest.updated_at} />
            </Table.Td>
            <Table.Td>
              <OpenLink href={`/conversations/${segment(conversationId)}`} label={`Open conversation of turn ${requestId}`} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </ListTable>
  )
}

const OpenLink = ({ href, label }: { href: string; label: string }) => (
  <Anchor component={Link} href={href} underline="always" inherit aria-label={label}>
    Open
  </Anchor>
)
