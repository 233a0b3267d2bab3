/** The end user, agent and key of a conversation, above its transcript. */
import { Anchor, Box, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useAgents } from '../../api/lists.ts'
import type { Conversation } from '../../api/types.ts'
import { IdText } from '../../show/id-text.tsx'
import { writeCount } from '../../show/measures.ts'
import { Moment } from '../../show/moment.tsx'

export function TranscriptFacts({ id, conversation }: { id: string; conversation: Conversation | undefined }) {
  const agents = useAgents()
  const agentName = agents.data?.find((agent) => agent.id === conversation?.agent_id)?.name
  return (
    <Box component="dl" m={0} style={{ display: 'flex', flexWrap: 'wrap', columnGap: 24, rowGap: 8 }}>
      {conversation ? (
        <>
          <Fact name="Agent">
            {agentName === undefined ? (
              <IdText id={conversation.agent_id} />
            ) : (
              <Anchor component={Link} href={`/agents/${conversation.agent_id}`} inherit underline="always">
                {agentName}
              </Anchor>
            )}
          </Fact>
          <Fact name="Messages">{writeCount(conversation.message_count)}</Fact>
          <Fact name="Started">
            <Moment at={conversation.created_at} />
          </Fact>
          <Fact name="Last activity">
            <Moment at={conversation.last_message_at} />
          </Fact>
        </>
      ) : null}
      <Fact name="Conversation ID">
        <IdText id={id} />
      </Fact>
      {conversation ? (
        <Fact name="API key">
          <IdText id={conversation.key_id} />
        </Fact>
      ) : null}
    </Box>
  )
}

const Fact = ({ name, children }: { name: string; children: ReactNode }) => (
  <div>
    <Text component="dt" size="xs" c="dimmed">
      {name}
    </Text>
    <Text component="dd" m={0} size="sm" className="as-written">
      {children}
    </Text>
  </div>
)
