/** Two turns beside each other: their spans on one scale, and what differs in what they were sent, what they returned and what they cost. */
import { useTurn, useTrace } from '../../api/turns.ts'
import { Anchor, Button, Group, Paper, SimpleGrid, Stack, Switch, Table, Text, TextInput, Title } from '@mantine/core'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import { useList } from '../../api/lists.ts'
import type { Turn, TurnTrace, TurnWithSteps } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { latencyOf, writeCount, writeMs } from '../../show/measures.ts'
import { Moment } from '../../show/moment.tsx'
import { Money } from '../../show/money.tsx'
import { StateBadge } from '../../show/state-badge.tsx'
import { TextDiff } from '../../show/text-diff.tsx'
import { axisOf, rowsOf } from '../../show/trace-layout.ts'
import { SpanDetails } from '../../show/trace-span.tsx'
import classes from '../../show/trace.module.css'
import { endOfId } from '../../show/turn-cells.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { Waterfall } from '../../show/waterfall.tsx'

type CompareProps = { trace: TurnTrace; other: string | null; onChoose(requestId: string): void }

export function Compare({ trace, other, onChoose }: CompareProps) {
  return other === null ? <Choice trace={trace} onChoose={onChoose} /> : <Both trace={trace} other={other} onChoose={onChoose} />
}

function Choice({ trace, onChoose }: { trace: TurnTrace; onChoose(requestId: string): void }) {
  const [id, setId] = useState('')
  const list = useList<Turn>(['turns', 'compare'], '/turns', { conversation_id: trace.conversation_id }, { limit: 20 })
  const others = list.items.filter(({ request_id: requestId }) => requestId !== trace.request_id)
  return (
    <Stack gap="md" maw={720}>
      <form
        aria-label="Compare"
        onSubmit={(event) => {
          event.preventDefault()
          if (id.trim() !== '') onChoose(id.trim())
        }}
      >
        <Group align="flex-end" gap="sm">
          <TextInput
            label="Request ID of another turn"
            value={id}
            onChange={(event) => setId(event.currentTarget.value)}
            placeholder="01a21635-863d-7481-9ea9-5c72795f549f"
            flex={1}
            maw={420}
          />
          <Button type="submit" variant="default">
            Compare
          </Button>
        </Group>
      </form>
      <Title order={3} size="h4">
        Turns of the same conversation
      </Title>
      <Waiting for={list.query} what="turns">
        {() =>
          others.length === 0 ? (
            <Text size="sm" c="dimmed">
              This conversation has no other turn. Enter the request ID of any turn, for example from the list of traces.
            </Text>
          ) : (
            <Table aria-label="Turns of the same conversation">
              <Table.Tbody>
                {others.map(({ request_id: requestId, status, started_at: at, agent_version: version }) => (
                  <Table.Tr key={requestId}>
                    <Table.Th scope="row" fw={400}>
                      <Anchor
                        component="button"
                        type="button"
                        size="xs"
                        ff="monospace"
                        onClick={() => onChoose(requestId)}
                        aria-label={`Compare with ${requestId}`}
                      >
                        …{endOfId(requestId)}
                      </Anchor>
                    </Table.Th>
                    <Table.Td>
                      <StateBadge state={status} />
                    </Table.Td>
                    <Table.Td>v{version}</Table.Td>
                    <Table.Td>
                      <Moment at={at} />
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          )
        }
      </Waiting>
    </Stack>
  )
}

type Side = { trace: TurnTrace; turn: TurnWithSteps }

function Both({ trace, other, onChoose }: { trace: TurnTrace; other: string; onChoose(requestId: string): void }) {
  const [turnA, turnB, traceB] = [useTurn(trace.request_id), useTurn(other), useTrace(other)]
  const error = turnB.error ?? traceB.error
  if (error)
    return (
      <Stack gap="md">
        <FailureNote
          error={error}
          title="Could not load the other turn"
          onRetry={() => void Promise.all([turnB, traceB].map(({ refetch }) => refetch()))}
        />
        <Choice trace={trace} onChoose={onChoose} />
      </Stack>
    )
  return (
    <Waiting for={turnA} what="the turn">
      {(own) => (
        <Waiting for={turnB} what="the other turn">
          {(turn) => (
            <Waiting for={traceB} what="the other trace">
              {(read) => (
                <Stack gap="lg">
                  <Group justify="flex-end">
                    <Button variant="default" size="xs" onClick={() => onChoose('')}>
                      Choose another turn
                    </Button>
                  </Group>
                  <Waterfalls sides={[trace, read]} />
                  <Differences a={{ trace, turn: own }} b={{ trace: read, turn }} />
                  <Texts a={trace} b={read} />
                </Stack>
              )}
            </Waiting>
          )}
        </Waiting>
      )}
    </Waiting>
  )
}

const letters = ['A', 'B'] as const

/** The span with the same ID is selected in both, so that its details are beside each other. */
function Waterfalls({ sides }: { sides: readonly [TurnTrace, TurnTrace] }) {
  const [selected, setSelected] = useState<string>()
  const rows = sides.map(({ spans }) => rowsOf(spans))
  const lengthMs = Math.max(...rows.map((own) => axisOf(own)).map((axis) => (axis ? axis.endMs - axis.startMs : 0)))
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      {sides.map(({ request_id: requestId }, index) => {
        const axis = axisOf(rows[index]!, lengthMs)
        const row = rows[index]!.find(({ id }) => id === selected)
        return (
          <Stack key={letters[index]} gap="xs" component="section" aria-label={`Turn ${letters[index]}`}>
            <Group gap="xs">
              <Title order={3} size="h4">
                {letters[index]}
              </Title>
              <Anchor component={Link} href={`/turns/${segment(requestId)}`} size="xs" ff="monospace" title={requestId}>
                …{endOfId(requestId)}
              </Anchor>
            </Group>
            <div className={classes['view']}>
              <Waterfall rows={rows[index]!} axis={axis} selected={selected} onSelect={setSelected} label={`Spans of ${letters[index]}`} />
              {row ? (
                <div className={classes['details']}>
                  <SpanDetails row={row} originMs={axis?.startMs ?? 0} />
                </div>
              ) : null}
            </div>
          </Stack>
        )
      })}
    </SimpleGrid>
  )
}

type Line = { name: string; values: readonly [string, string]; shown?: readonly [ReactNode, ReactNode] }

function Differences({ a, b }: { a: Side; b: Side }) {
  const line = (name: string, of: (side: Side) => string, show?: (side: Side) => ReactNode): Line => ({
    name,
    values: [of(a), of(b)],
    ...(show ? { shown: [show(a), show(b)] as const } : {}),
  })
  const lines = [
    line(
      'Status',
      ({ turn }) => turn.status,
      ({ turn }) => <StateBadge state={turn.status} />,
    ),
    line('Cause', ({ turn }) => turn.failure?.cause_kind ?? '–'),
    line('Version', ({ turn }) => `v${turn.agent_version}`),
    line('Model', ({ trace }) => trace.version.model),
    line('Temperature', ({ trace }) => String(trace.version.temperature ?? 'model default')),
    line('Max output tokens', ({ trace }) => writeCount(trace.version.max_output_tokens)),
    line('Passages', ({ trace }) => passagesOf(trace)),
    line('Tool calls', ({ trace }) => toolsOf(trace)),
    line('Tokens', ({ turn: { usage } }) =>
      usage ? `${writeCount(usage.prompt_tokens)} in, ${writeCount(usage.completion_tokens)} out` : '–',
    ),
    line(
      'Charge',
      ({ turn }) => turn.usage?.charged_usd ?? '–',
      ({ turn }) => (turn.usage ? <Money amount={turn.usage.charged_usd} /> : '–'),
    ),
    line('Latency', ({ turn }) => {
      const took = latencyOf(turn)
      return took === null ? '–' : writeMs(took)
    }),
    line('First token', ({ turn }) => (turn.first_delta_ms === null ? '–' : writeMs(turn.first_delta_ms))),
  ]
  return (
    <Table.ScrollContainer minWidth={480} type="native" tabIndex={0} role="region" aria-label="Differences" className={classes['view']}>
      <Table verticalSpacing={6} fz="sm">
        <Table.Thead>
          <Table.Tr>
            {['', 'A', 'B'].map((name) => (
              <Table.Th key={name} scope="col">
                {name === '' ? <span className="for-readers-only">Figure</span> : name}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {lines.map(({ name, values, shown = values }) => (
            <Table.Tr key={name} className={values[0] === values[1] ? undefined : classes['differs']}>
              <Table.Th scope="row" fw={500}>
                {name}
                {values[0] === values[1] ? null : <span className="for-readers-only"> (differs)</span>}
              </Table.Th>
              <Table.Td className="as-written">{shown[0]}</Table.Td>
              <Table.Td className="as-written">{shown[1]}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

function passagesOf({ spans }: TurnTrace): string {
  const used = spans.flatMap((span) => (span.type === 'retrieval' ? span.passages.filter((passage) => passage.used) : []))
  return used.length === 0 ? 'none' : used.map(({ title, section }) => (section ? `${title} › ${section}` : title)).join('\n')
}

function toolsOf({ spans }: TurnTrace): string {
  const names = spans.flatMap((span) => (span.type === 'tool_call' ? span.name : []))
  return names.length === 0 ? 'none' : names.join(', ')
}

function Texts({ a, b }: { a: TurnTrace; b: TurnTrace }) {
  const [withSame, setWithSame] = useState(false)
  const texts = [
    { name: 'System prompt', pair: [a.version.system_prompt, b.version.system_prompt] as const },
    { name: 'Message', pair: [a.message, b.message] as const },
    { name: 'Reply', pair: [a.reply ?? '', b.reply ?? ''] as const },
  ]
  const same = texts.filter(({ pair }) => pair[0] === pair[1])
  return (
    <Stack gap="md">
      {texts
        .filter((text) => withSame || !same.includes(text))
        .map(({ name, pair }) => (
          <Paper key={name} withBorder p="md">
            <Title order={3} size="h4" mb="xs">
              {name}
            </Title>
            <TextDiff before={pair[0]} now={pair[1]} label={`${name}, from A to B`} />
          </Paper>
        ))}
      {same.length === 0 ? null : (
        <Switch
          label={`Show what is the same: ${same.map(({ name }) => name.toLowerCase()).join(', ')}`}
          checked={withSame}
          onChange={(event) => setWithSame(event.currentTarget.checked)}
        />
      )}
    </Stack>
  )
}
