/** The totals of each agent, most expensive first. It needs one report per agent, so it is requested by a button. */
import { Anchor, Button, Stack, Table, Text } from '@mantine/core'
import { useQueries } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { call } from '../../api/client.ts'
import { useAgents } from '../../api/lists.ts'
import type { Agent, Usage } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { writeCount, writeMs } from '../../show/measures.ts'
import { ListTable } from '../../show/list-table.tsx'
import { Money } from '../../show/money.tsx'
import { Panel } from '../../show/panel.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { readAmount } from '../../api/amounts.ts'
import { writeAsked } from '../../show/usage-range.ts'
import type { Asked, Span } from '../../show/usage-range.ts'

/** The maximum number of reports: each scans the turns of the whole range. */
const maxAgents = 20

type Compared = { agent: Agent; totals: Usage['totals'] }

export function Compare({ asked, span }: { asked: Asked; span: Span }) {
  const [wanted, setWanted] = useState(false)
  const agents = useAgents()
  return (
    <Panel title="By agent">
      {wanted ? (
        <Waiting for={agents} what="agents">
          {(all) => (
            <AgentTotals
              agents={all.filter(({ owner_id: payer }) => asked.ownerId === null || payer === asked.ownerId)}
              asked={asked}
              span={span}
            />
          )}
        </Waiting>
      ) : (
        <div className="panel-body">
          <Button variant="default" onClick={() => setWanted(true)}>
            Compare agents
          </Button>
        </div>
      )}
    </Panel>
  )
}

function AgentTotals({ agents, asked, span }: { agents: Agent[]; asked: Asked; span: Span }) {
  const asking = agents.slice(0, maxAgents)
  const { rows, error, pending } = useQueries({
    queries: asking.map(({ id }) => {
      const query = { ...span, owner_id: asked.ownerId, agent_id: id }
      return { queryKey: ['usage', query], queryFn: ({ signal }: { signal: AbortSignal }) => call<Usage>('/usage', { query, signal }) }
    }),
    combine: (answers) => ({
      rows: answers
        .flatMap(({ data }, index): Compared[] => (data ? [{ agent: asking[index]!, totals: data.totals }] : []))
        .toSorted(byCharge),
      error: answers.find((answer) => answer.error)?.error ?? null,
      pending: answers.filter((answer) => answer.isPending).length,
    }),
  })
  return (
    <Stack gap="xs">
      <FailureNote error={error} title="Could not load every agent" />
      <Text size="sm" c="dimmed" aria-live="polite" px="md">
        {pending > 0 ? `Loading ${pending} of ${asking.length} agents…` : null}
        {pending === 0 && agents.length > maxAgents
          ? `Showing the newest ${maxAgents} of ${agents.length} agents. Choose an owner to narrow the list.`
          : null}
        {agents.length === 0 ? 'No agents to compare.' : null}
      </Text>
      {rows.length > 0 ? (
        <ListTable minWidth={640} aria-label="Agents by charges, highest first" horizontalSpacing="md">
          <Table.Thead>
            <Table.Tr>
              <Table.Th scope="col">Agent</Table.Th>
              {['Turns', 'Errors', 'Tokens', 'Charged', 'Latency p95', 'First token p95'].map((label) => (
                <Table.Th key={label} scope="col" ta="right">
                  {label}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map((row) => (
              <Row key={row.agent.id} {...row} asked={asked} />
            ))}
          </Table.Tbody>
        </ListTable>
      ) : null}
    </Stack>
  )
}

function Row({ agent: { id, name }, totals, asked }: Compared & { asked: Asked }) {
  const { turns, errors, prompt_tokens: prompt, completion_tokens: completion, p95_ms: latency, p95_first_delta_ms: firstDelta } = totals
  return (
    <Table.Tr>
      <Table.Th scope="row" fw={500} maw={280}>
        <Anchor component={Link} inherit href={`/usage?${writeAsked({ ...asked, agentId: id, keyId: null })}`} className="as-written">
          {name}
        </Anchor>
      </Table.Th>
      <Figure text={writeCount(turns)} />
      <Figure text={writeCount(errors)} />
      <Figure text={writeCount(prompt + completion)} />
      <Table.Td ta="right">
        <Money amount={totals.charged_usd} />
      </Table.Td>
      <Figure text={latency === null ? '–' : writeMs(latency)} />
      <Figure text={firstDelta === null ? '–' : writeMs(firstDelta)} />
    </Table.Tr>
  )
}

const Figure = ({ text }: { text: string }) => (
  <Table.Td ta="right" className="figures">
    {text}
  </Table.Td>
)

function byCharge(a: Compared, b: Compared): number {
  const difference = (readAmount(b.totals.charged_usd) ?? 0n) - (readAmount(a.totals.charged_usd) ?? 0n)
  return difference > 0n ? 1 : difference < 0n ? -1 : b.totals.turns - a.totals.turns
}
