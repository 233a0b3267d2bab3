/** The trace of a turn, loaded when it is shown: each attempt, and what it did in order. */
import { Alert, Anchor, Badge, Group, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { call, segment } from '../api/client.ts'
import type { TurnTrace as Trace } from '../api/types.ts'
import { writeMs } from './measures.ts'
import { Waiting } from './waiting.tsx'
import { groupByAttempt } from './trace-attempts.ts'
import type { Span, SpanOf, TracedAttempt } from './trace-attempts.ts'
import { TraceSpan } from './trace-span.tsx'

export const useTrace = (requestId: string) =>
  useQuery({
    queryKey: ['turns', requestId, 'trace'],
    queryFn: ({ signal }) => call<Trace>(`/turns/${segment(requestId)}/trace`, { signal }),
    refetchInterval: ({ state }) => (state.data?.status === 'running' ? 2_000 : false),
  })

/** With a link to the page of the turn. */
export function TurnTrace({ requestId }: { requestId: string }) {
  const trace = useTrace(requestId)
  return (
    <Waiting for={trace} what="the trace">
      {(read) => (
        <Stack gap="sm">
          <TraceAttempts trace={read} />
          <Text size="sm">
            <Anchor component={Link} href={`/turns/${segment(requestId)}`} inherit underline="always">
              Open turn
            </Anchor>{' '}
            to run it again with another prompt or model.
          </Text>
        </Stack>
      )}
    </Waiting>
  )
}

export const TraceAttempts = ({ trace: { complete, status, spans } }: { trace: Trace }) => (
  <Stack gap="sm" maw={720}>
    {complete ? null : <Incomplete status={status} />}
    <Attempts spans={spans} />
  </Stack>
)

export const Attempts = ({ spans }: { spans: readonly Span[] }) =>
  groupByAttempt(spans).map((attempt) => <Attempt key={`${attempt.run}-${attempt.attempt}`} attempt={attempt} />)

const Incomplete = ({ status }: { status: Trace['status'] }) => (
  <Alert color="gray" variant="light" py="xs">
    <Text size="sm">
      {status === 'running'
        ? 'The turn is still running.'
        : 'A run of this turn has no stored trace: it is older than TURNKEEP_TRACE_DAYS, traces are off (0), or all attempts died. What the journal contains is shown.'}
    </Text>
  </Alert>
)

const ends: Record<SpanOf<'attempt'>['end'], { word: string; color: string }> = {
  running: { word: 'Running', color: 'blue' },
  completed: { word: 'Completed', color: 'teal' },
  failed: { word: 'Failed', color: 'red' },
  released: { word: 'Released', color: 'red' },
  cancelled: { word: 'Cancelled', color: 'gray' },
  process_died: { word: 'Process died', color: 'red' },
}

function Attempt({ attempt: { run, attempt, end, work } }: { attempt: TracedAttempt }) {
  const name = `Run ${run}, attempt ${attempt ?? 'unknown'}`
  return (
    <Stack component="section" gap="xs" aria-label={name}>
      <Group gap="xs">
        <Title order={3} size="h5">
          {name}
        </Title>
        {end ? (
          <Badge size="sm" variant="light" color={ends[end.end].color}>
            {ends[end.end].word}
          </Badge>
        ) : null}
        {end && end.duration_ms !== null ? (
          <Text size="xs" c="dimmed" className="figures">
            {writeMs(end.duration_ms)}
          </Text>
        ) : null}
      </Group>
      {end && end.cause !== null ? (
        <Text size="sm" className="as-written">
          {end.cause_kind === null ? '' : `${end.cause_kind} · `}
          {end.cause}
        </Text>
      ) : null}
      <Stack component="ol" gap="sm" m={0} p={0} style={{ listStyle: 'none' }}>
        {/* By their position: a trace only grows at its end. */}
        {Array.from(work.entries(), ([position, span]) => (
          <TraceSpan key={position} span={span} />
        ))}
      </Stack>
    </Stack>
  )
}
