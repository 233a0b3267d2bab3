/** The details of what is selected in a trace: what was sent, what came back, and what it cost. */
import { Badge, Group, Stack, Text, Title } from '@mantine/core'
import type { ReactNode } from 'react'
import { writeCount, writeMs } from './measures.ts'
import { Money } from './money.tsx'
import { PriceOfTurn } from './price-calculation.tsx'
import type { SpanOf } from './trace-attempts.ts'
import type { Row } from './trace-layout.ts'
import { ModelCallDetails } from './trace-model-call.tsx'
import { Facts, SpanError } from './trace-parts.tsx'
import { TraceText } from './trace-text.tsx'

/** `originMs`: where the axis starts. */
export function SpanDetails({ row, originMs }: { row: Row; originMs: number }) {
  const { startMs, endMs } = row
  const times = [
    ...(startMs === null ? ['time not known'] : [`starts at ${writeMs(startMs - originMs)}`]),
    ...(startMs !== null && endMs !== null && endMs > startMs ? [`takes ${writeMs(endMs - startMs)}`] : []),
  ]
  return (
    <Stack gap="sm" component="section" aria-label={`Details of ${row.name}`}>
      <div>
        <Group gap="xs" justify="space-between" wrap="nowrap" align="flex-start">
          <Title order={3} size="h4" className="as-written">
            {row.name}
          </Title>
          <RowBadge row={row} />
        </Group>
        <Text size="sm" c="dimmed" className="figures" style={{ whiteSpace: 'normal' }}>
          {times.join(' · ')}
          {row.kind === 'span' && 'recorded' in row.span && row.span.recorded === 'journal' ? ' · from the journal' : ''}
        </Text>
      </div>
      <DetailsOf row={row} />
    </Stack>
  )
}

function DetailsOf({ row }: { row: Row }) {
  if (row.kind === 'attempt') return <Attempt end={row.attempt.end} isCancelled={row.status === 'cancelled'} />
  if (row.kind === 'gap')
    return (
      <Text size="sm">
        {row.after === 'process_died'
          ? 'The process that ran the turn ended without storing a result. Another process claimed the turn when the lease of the first had ended, and continued under the same request ID.'
          : 'The run ended without a reply. The caller sent the message again later, with the same Idempotency-Key.'}
      </Text>
    )
  const { span } = row
  const isCancelled = row.status === 'cancelled'
  switch (span.type) {
    case 'admission':
      return (
        <Facts
          facts={[['Hold', <Money key="held" amount={span.held_usd} />]]}
          note="The most that the turn may cost, reserved on the owner’s balance before the model is called. What is left is returned at the settlement."
        />
      )
    case 'retrieval':
      return <Retrieval span={span} />
    case 'model_call':
      return <ModelCallDetails span={span} isCancelled={isCancelled} />
    case 'tool_call':
      return <ToolCall span={span} isCancelled={isCancelled} />
    case 'settlement':
      return (
        <Stack gap="sm">
          <Facts
            facts={[
              ['Charge', <Money key="charged" amount={span.charged_usd} />],
              ['Hold returned', <Money key="released" amount={span.hold_released_usd} />],
            ]}
          />
          <PriceOfTurn calculation={span.price_calculation} />
        </Stack>
      )
  }
}

const ends: Record<SpanOf<'attempt'>['end'], { word: string; color: string }> = {
  running: { word: 'Running', color: 'blue' },
  completed: { word: 'Completed', color: 'teal' },
  failed: { word: 'Failed', color: 'red' },
  released: { word: 'Released', color: 'red' },
  cancelled: { word: 'Cancelled', color: 'gray' },
  process_died: { word: 'Process died', color: 'red' },
}
const statuses: Record<SpanOf<'tool_call'>['status'], { word: string; color: string }> = {
  answered: { word: 'Succeeded', color: 'teal' },
  error: { word: 'Error', color: 'red' },
  not_made: { word: 'Not called', color: 'red' },
  interrupted: { word: 'Outcome unknown', color: 'yellow' },
  running: { word: 'Running', color: 'blue' },
}

const usualReasons = new Set(['stop', 'tool_calls'])

function RowBadge({ row }: { row: Row }) {
  const shown = badgeOf(row)
  if (!shown) return null
  // Nothing to look into: a word, and not a colored mark.
  if (usualReasons.has(shown.word))
    return (
      <Text span size="xs" ff="monospace" c="dimmed">
        {shown.word}
      </Text>
    )
  return <Badge color={shown.color}>{shown.word}</Badge>
}

function badgeOf(row: Row): { word: string; color: string } | undefined {
  if (row.status === 'cancelled') return ends.cancelled
  if (row.kind === 'attempt') return row.attempt.end && ends[row.attempt.end.end]
  if (row.kind === 'gap') return undefined
  const { span } = row
  if (span.type === 'tool_call') return statuses[span.status]
  if (span.type !== 'model_call') return undefined
  if (span.error) return { word: span.error.kind.replaceAll('_', ' '), color: 'red' }
  if (row.status === 'running') return { word: 'Running', color: 'blue' }
  return span.finish_reason === null ? undefined : { word: span.finish_reason, color: 'yellow' }
}

type AttemptProps = { end: SpanOf<'attempt'> | undefined; isCancelled: boolean }

function Attempt({ end, isCancelled }: AttemptProps) {
  if (!end) return <Text size="sm">The journal does not say which attempt did this.</Text>
  if (isCancelled)
    return (
      <Text size="sm">
        {end.end === 'completed'
          ? 'The turn was cancelled. The text so far is the reply, and it was charged.'
          : 'The turn was cancelled before there was any text.'}
      </Text>
    )
  if (end.cause !== null || end.cause_kind !== null) return <SpanError kind={end.cause_kind} message={end.cause ?? 'No cause recorded.'} />
  if (end.end === 'process_died')
    return (
      <Text size="sm">
        The process ended without storing a result, so only the finished tool calls in the journal are known. Its model calls are not.
      </Text>
    )
  return (
    <Text size="sm">One process worked on the turn from its admission to its end. Select a span to see what was sent and returned.</Text>
  )
}

const Retrieval = ({ span: { query, passages } }: { span: SpanOf<'retrieval'> }) => (
  <Stack gap="sm">
    <TraceText label="Query" text={query} />
    {passages.length === 0 ? (
      <Text size="sm" c="dimmed">
        No passage of the knowledge base matches the message.
      </Text>
    ) : null}
    {Array.from(passages.entries(), ([index, { title, section, score, text, used }]) => (
      <TraceText
        key={index}
        label={`Passage ${index + 1}`}
        heading={<PassageHeading {...{ number: index + 1, title, section, score, used }} />}
        text={text}
      />
    ))}
  </Stack>
)

type PassageHeadingProps = { number: number; title: string; section: string; score: number; used: boolean }

const PassageHeading = ({ number, title, section, score, used }: PassageHeadingProps): ReactNode => (
  <Group gap={6} component="span">
    <Text span inherit c="var(--tk-ink)" fw={500} className="as-written">
      {number}. {section ? `${title} › ${section}` : title}
    </Text>
    <Text span inherit className="figures">
      score {score.toPrecision(3)}
    </Text>
    <Badge size="xs" color={used ? 'teal' : 'yellow'}>
      {used ? 'Sent to the model' : 'Cut: over the token limit'}
    </Badge>
  </Group>
)

function ToolCall({ span, isCancelled }: { span: SpanOf<'tool_call'>; isCancelled: boolean }) {
  const { name, status, result, price_usd: price, journal, step, part } = span
  return (
    <Stack gap="sm">
      <TraceText label={`Arguments of ${name}`} text={span.arguments} code />
      {result === null ? (
        <Text size="sm" c="dimmed">
          {isCancelled
            ? 'The turn was cancelled before the tool had answered.'
            : status === 'running'
              ? 'The tool has not answered yet.'
              : 'No result is stored. No one knows whether the call took effect.'}
        </Text>
      ) : (
        <TraceText label={`${status === 'error' ? 'Error' : 'Result'} of ${name}`} text={result} code />
      )}
      <Facts
        facts={[
          ['Step, part', `${writeCount(step)}, ${writeCount(part)}`],
          ['Journal', journal],
          ...(price !== null && /[1-9]/.test(price) ? [['Price', <Money key="price" amount={price} />] as const] : []),
        ]}
      />
    </Stack>
  )
}
