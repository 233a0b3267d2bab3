/** Feedback as a list: what was thought, and of which message and reply. Each row leads to its trace and to its place in the conversation. */
import { Anchor, Group, Stack, Table, Text } from '@mantine/core'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import type { Feedback } from '../../api/types.ts'
import { plainText } from '../../show/plain-text.ts'
import { RatingBadge, TagList } from '../../show/feedback.tsx'
import { ListTable } from '../../show/list-table.tsx'
import { Moment } from '../../show/moment.tsx'
import { StateBadge } from '../../show/state-badge.tsx'
import { AgentCell, EndUserCell } from '../../show/turn-cells.tsx'

export function FeedbackTable({ feedback }: { feedback: Feedback[] }) {
  return (
    <ListTable minWidth={980} verticalSpacing="sm" aria-label="Feedback, newest changes first">
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">Rating</Table.Th>
          <Table.Th scope="col">Comment and tags</Table.Th>
          <Table.Th scope="col">Message and reply</Table.Th>
          <Table.Th scope="col">Agent</Table.Th>
          <Table.Th scope="col">End user</Table.Th>
          <Table.Th scope="col">Changed</Table.Th>
          <Table.Th scope="col">Open</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {feedback.map((one) => (
          <Row key={one.request_id} feedback={one} />
        ))}
      </Table.Tbody>
    </ListTable>
  )
}

function Row({ feedback }: { feedback: Feedback }) {
  const { request_id: requestId, conversation_id: conversationId, rating, comment, tags } = feedback
  return (
    <Table.Tr style={{ verticalAlign: 'top' }}>
      <Table.Td>
        <RatingBadge rating={rating} />
      </Table.Td>
      <Table.Td maw={280}>
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
      <Table.Td maw={420}>
        <Excerpts feedback={feedback} />
      </Table.Td>
      <AgentCell agentId={feedback.agent_id} />
      <EndUserCell of={feedback} />
      <Table.Td style={{ whiteSpace: 'nowrap' }}>
        <Moment at={feedback.updated_at} />
      </Table.Td>
      <Table.Td style={{ whiteSpace: 'nowrap' }}>
        <Group gap="sm" wrap="nowrap">
          <OpenLink href={`/turns/${segment(requestId)}`} label={`Trace of turn ${requestId}`} text="Trace" />
          <OpenLink
            href={`/conversations/${segment(conversationId)}?turn=${segment(requestId)}`}
            label={`Conversation of turn ${requestId}`}
            text="Conversation"
          />
        </Group>
      </Table.Td>
    </Table.Tr>
  )
}

function Excerpts({ feedback: { message, reply, status } }: { feedback: Feedback }) {
  return (
    <Stack gap={4}>
      {message === null ? null : (
        <Text size="sm" c="dimmed" lineClamp={1} className="excerpt">
          {message}
        </Text>
      )}
      {reply === null ? (
        <div>
          <StateBadge state={status} />
        </div>
      ) : (
        <Text size="sm" lineClamp={2} className="excerpt">
          {plainText(reply)}
        </Text>
      )}
    </Stack>
  )
}

const OpenLink = ({ href, label, text }: { href: string; label: string; text: string }) => (
  <Anchor component={Link} href={href} inherit aria-label={label}>
    {text}
  </Anchor>
)
