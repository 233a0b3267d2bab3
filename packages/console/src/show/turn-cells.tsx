/** Cells of the tables of turns: the agent and the end user of a turn, and the links to its conversation and its trace. */
import { Anchor, Table } from '@mantine/core'
import { Link } from 'wouter'
import { segment } from '../api/client.ts'
import { useAgents } from '../api/lists.ts'
import type { Turn } from '../api/types.ts'
import { pathOfEndUser } from './end-user-path.ts'

/** An agent by name. A deleted agent is in no list, so its ID is shown. */
export function AgentCell({ agentId }: { agentId: string }) {
  const name = useAgents().data?.find(({ id }) => id === agentId)?.name
  return (
    <Table.Td miw={120} maw={240}>
      <Anchor
        component={Link}
        href={`/agents/${segment(agentId)}`}
        className="as-written"
        {...(name === undefined ? { size: 'xs', ff: 'monospace' } : { inherit: true })}
      >
        {name ?? agentId}
      </Anchor>
    </Table.Td>
  )
}

export const EndUserCell = ({ of: { agent_id: agentId, external_user_id: user } }: { of: Pick<Turn, 'agent_id' | 'external_user_id'> }) => (
  <Table.Td maw={200}>
    {user === null ? (
      'Erased'
    ) : (
      <Anchor component={Link} href={pathOfEndUser(agentId, user)} inherit className="as-written">
        {user}
      </Anchor>
    )}
  </Table.Td>
)

/** The last group of a request ID. Its start is the time, which turns of the same minute share. */
export const endOfId = (requestId: string): string => requestId.slice(-12)

export function TurnCell({ turn: { request_id: requestId, conversation_id: conversationId } }: { turn: Turn }) {
  return (
    <Table.Td>
      <Anchor
        component={Link}
        href={`/conversations/${segment(conversationId)}`}
        size="xs"
        ff="monospace"
        title={requestId}
        aria-label={`Open conversation of request ${requestId}`}
      >
        <span aria-hidden="true">…</span>
        {endOfId(requestId)}
      </Anchor>
    </Table.Td>
  )
}

/** The heading of a row: leads to the trace. */
export const TraceCell = ({ requestId }: { requestId: string }) => (
  <Table.Th scope="row" fw={500}>
    <Anchor
      component={Link}
      href={`/turns/${segment(requestId)}`}
      size="xs"
      ff="monospace"
      title={requestId}
      aria-label={`Open trace of request ${requestId}`}
    >
      <span aria-hidden="true">…</span>
      {endOfId(requestId)}
    </Anchor>
  </Table.Th>
)
