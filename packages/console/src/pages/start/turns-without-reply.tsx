/** The newest turns that ended without a reply, with the cause that only the operator sees. */
import { Anchor, Box, Code, Table, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { call, segment } from '../../api/client.ts'
import type { Agent, Page, Turn } from '../../api/types.ts'
import { Moment } from '../../show/moment.tsx'
import { StateBadge } from '../../show/state-badge.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { ListTable } from '../../show/list-table.tsx'

// As many as fit without scrolling. The rest is under Operations.
const maxShown = 5
const refreshMs = 30_000

/** Failed turns are final; released ones may be run again by their caller. The operator needs to know both. */
async function readNewest(signal: AbortSignal): Promise<Turn[]> {
  const read = (status: Turn['state']) => call<Page<Turn>>('/turns', { query: { status, limit: maxShown }, signal })
  const [failed, released] = await Promise.all([read('failed'), read('released')])
  return [...failed.data, ...released.data].toSorted((one, other) => endOf(other).localeCompare(endOf(one))).slice(0, maxShown)
}

const endOf = (turn: Turn): string => turn.ended_at ?? turn.started_at

export function TurnsWithoutReply({ agents }: { agents: Agent[] }) {
  const turns = useQuery({
    queryKey: ['turns', 'without a reply', maxShown],
    queryFn: ({ signal }) => readNewest(signal),
    refetchInterval: refreshMs,
  })
  return (
    <Box component="section" aria-labelledby="without-reply">
      <Title order={2} size="h4" mb="sm" id="without-reply">
        Recent turns without a reply
      </Title>
      <Waiting for={turns} what="turns">
        {(found) => (found.length === 0 ? <Text size="sm">No turns without a reply.</Text> : <Failures turns={found} agents={agents} />)}
      </Waiting>
    </Box>
  )
}

function Failures({ turns, agents }: { turns: Turn[]; agents: Agent[] }) {
  return (
    <ListTable minWidth={760} aria-label="Recent turns without a reply" verticalSpacing="xs">
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">Ended</Table.Th>
          <Table.Th scope="col">Agent</Table.Th>
          <Table.Th scope="col">State</Table.Th>
          <Table.Th scope="col">Cause</Table.Th>
          <Table.Th scope="col">Conversation</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {turns.map((turn) => (
          <Table.Tr key={turn.request_id}>
            <Table.Td>
              <Moment at={endOf(turn)} />
            </Table.Td>
            <Table.Td>{agents.find(({ id }) => id === turn.agent_id)?.name ?? 'Deleted agent'}</Table.Td>
            <Table.Td>
              <StateBadge state={turn.state} />
            </Table.Td>
            <Table.Td>
              <Code>{turn.failure?.cause_kind ?? turn.failure?.code ?? 'failed'}</Code>{' '}
              <Text span size="sm" className="as-written" lineClamp={3}>
                {turn.failure?.cause}
              </Text>
            </Table.Td>
            <Table.Td>
              <Anchor
                component={Link}
                href={`/conversations/${segment(turn.conversation_id)}`}
                underline="always"
                inherit
                aria-label={`Open conversation of turn ${turn.request_id}`}
              >
                Open
              </Anchor>
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </ListTable>
  )
}
