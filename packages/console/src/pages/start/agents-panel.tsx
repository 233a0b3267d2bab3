/** The agents with the most turns or the largest spend of the range, each with its course. */
import { Anchor, SegmentedControl, Table, Text } from '@mantine/core'
import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query'
import { Link, useSearchParams } from 'wouter'
import { readAmount } from '../../api/amounts.ts'
import { call, segment } from '../../api/client.ts'
import { useOwners } from '../../api/lists.ts'
import { readLines } from '../../api/spend.ts'
import type { Agent, Usage, UsageLine } from '../../api/types.ts'
import { writeCount } from '../../show/measures.ts'
import { Money } from '../../show/money.tsx'
import { Panel } from '../../show/panel.tsx'
import { Sparkline } from '../../show/sparkline.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { ListTable } from '../../show/list-table.tsx'
import { writeAsked } from '../../show/usage-range.ts'
import type { ComparedRange, Span } from '../../show/usage-range.ts'
import { RowsLoading } from './attention-panel.tsx'
import { errorRate } from './trends.ts'

/** Each has a report of its own for its course. */
const maxShown = 6
const refetchInterval = 60_000

type Order = 'turns' | 'spend'

export function AgentsPanel({ agents, range, span }: { agents: Agent[]; range: ComparedRange; span: Span }) {
  const [params, setParams] = useSearchParams()
  const order: Order = params.get('by') === 'spend' ? 'spend' : 'turns'
  const query = { group_by: 'agent', from: span.from }
  const lines = useQuery({
    queryKey: ['usage', 'lines', query],
    queryFn: ({ signal }) => readLines(query, signal),
    refetchInterval,
    placeholderData: keepPreviousData,
  })
  const choose = (next: string): void =>
    setParams(
      (before) => {
        const changed = new URLSearchParams(before)
        if (next === 'spend') changed.set('by', 'spend')
        else changed.delete('by')
        return changed
      },
      { replace: true },
    )
  return (
    <Panel
      title="Agents"
      aside={
        <SegmentedControl
          size="xs"
          aria-label="Order of agents"
          value={order}
          data={[
            { value: 'turns', label: 'By turns' },
            { value: 'spend', label: 'By spend' },
          ]}
          onChange={choose}
        />
      }
    >
      {lines.isPending ? (
        <RowsLoading rows={4} what="agents" />
      ) : (
        <Waiting for={lines} what="agents">
          {(found) => <Ranked lines={ranked(found, order)} total={agents.length} agents={agents} range={range} span={span} />}
        </Waiting>
      )}
    </Panel>
  )
}

function ranked(lines: UsageLine[], order: Order): UsageLine[] {
  const spend = ({ charged_usd: charged }: UsageLine): bigint => readAmount(charged) ?? 0n
  const bySpend = (one: UsageLine, other: UsageLine): number => (spend(other) > spend(one) ? 1 : spend(other) < spend(one) ? -1 : 0)
  const byTurns = (one: UsageLine, other: UsageLine): number => other.turns - one.turns
  return lines.toSorted((one, other) =>
    order === 'turns' ? byTurns(one, other) || bySpend(one, other) : bySpend(one, other) || byTurns(one, other),
  )
}

type RankedProps = { lines: UsageLine[]; total: number; agents: Agent[]; range: ComparedRange; span: Span }

function Ranked({ lines, total, agents, range, span }: RankedProps) {
  const shown = lines.slice(0, maxShown)
  const owners = useOwners()
  const courses = useQueries({
    queries: shown.map(({ agent_id: agentId }) => {
      const query = { ...span, agent_id: agentId }
      return {
        queryKey: ['usage', query],
        queryFn: ({ signal }: { signal: AbortSignal }) => call<Usage>('/usage', { query, signal }),
        refetchInterval,
        placeholderData: keepPreviousData,
      }
    }),
    combine: (answers) => answers.map(({ data }) => data),
  })
  if (shown.length === 0)
    return (
      <Text size="sm" c="dimmed" className="panel-body">
        No turns in this range. Send a message in the{' '}
        <Anchor component={Link} href="/playground" inherit underline="always">
          playground
        </Anchor>
        , or choose a longer range.
      </Text>
    )
  return (
    <>
      <ListTable minWidth={420} aria-label="Agents by activity" horizontalSpacing="md">
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">Agent</Table.Th>
            <Table.Th scope="col">Turns</Table.Th>
            <Table.Th scope="col" ta="right">
              Count
            </Table.Th>
            <Table.Th scope="col" ta="right">
              Errors
            </Table.Th>
            <Table.Th scope="col" ta="right">
              Spend
            </Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {shown.map((line, index) => {
            const agent = agents.find(({ id }) => id === line.agent_id)
            const owner = owners.data?.find(({ id }) => id === (agent?.owner_id ?? line.owner_id))
            return <Row key={line.agent_id} line={line} course={courses[index]} isDeleted={!agent} owner={owner?.name} />
          })}
        </Table.Tbody>
      </ListTable>
      <div className="panel-body">
        <Anchor
          component={Link}
          size="sm"
          href={`/usage?${writeAsked({ range, from: '', to: '', ownerId: null, agentId: null, keyId: null, externalUserId: null })}`}
        >
          {lines.length > maxShown || total > lines.length ? 'Usage of all agents' : 'View usage'}
        </Anchor>
      </div>
    </>
  )
}

const percent = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 })

type RowProps = { line: UsageLine; course: Usage | undefined; isDeleted: boolean; owner: string | undefined }

function Row({ line, course, isDeleted, owner }: RowProps) {
  const { agent_id: id, agent_name: name, turns, charged_usd: charged } = line
  const rate = course ? errorRate(course.totals) : null
  const hasErrors = (course?.totals.errors ?? 0) > 0
  return (
    <Table.Tr>
      <Table.Th scope="row" fw={500}>
        {isDeleted ? (
          <Text inherit c="dimmed" className="as-name">
            {name ?? id} (deleted)
          </Text>
        ) : (
          <Anchor component={Link} href={`/agents/${segment(id ?? '')}`} inherit className="as-name">
            {name}
          </Anchor>
        )}
        {owner === undefined ? null : (
          <Text size="xs" c="dimmed" fw={400} className="as-name">
            {owner}
          </Text>
        )}
      </Table.Th>
      <Table.Td>
        <div style={{ height: 24, width: 96 }}>{course ? <Sparkline values={course.data.map(({ turns: count }) => count)} /> : null}</div>
      </Table.Td>
      <Table.Td ta="right" className="figures">
        {writeCount(turns)}
      </Table.Td>
      <Table.Td ta="right" className="figures" {...(hasErrors ? { c: 'var(--tk-bad)' } : {})}>
        {rate === null ? '–' : percent.format(rate)}
      </Table.Td>
      <Table.Td ta="right">
        <Money amount={charged} />
      </Table.Td>
    </Table.Tr>
  )
}
