/** One step of a trace: a search, a model call with its prompt, a tool call with its result, or what was held and charged. Texts stay text. */
import { Badge, Box, Code, Group, Stack, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { writeCount, writeMs } from './measures.ts'
import { Money } from './money.tsx'
import type { SpanOf, Work } from './trace-attempts.ts'

export function TraceSpan({ span }: { span: Work }) {
  switch (span.type) {
    case 'admission':
      return (
        <Entry span={span} name="Admission">
          Hold <Money amount={span.held_usd} />
        </Entry>
      )
    case 'retrieval':
      return <Retrieval span={span} />
    case 'model_call':
      return <ModelCall span={span} />
    case 'tool_call':
      return <ToolCall span={span} />
    case 'settlement':
      return (
        <Entry span={span} name="Settlement">
          Charge <Money amount={span.charged_usd} />
        </Entry>
      )
  }
}

type EntryProps = { span: Work; name: string; badge?: ReactNode; children?: ReactNode; details?: ReactNode }

/** `children` is a line of figures; `details` follow below. */
function Entry({ span: { start_ms: start, duration_ms: duration }, name, badge, children, details }: EntryProps) {
  return (
    <Group component="li" gap="xs" wrap="nowrap" align="flex-start" aria-label={name}>
      <Text size="xs" c="dimmed" className="figures" w={64} ta="right" pt={2} style={{ flexShrink: 0 }}>
        {start === null ? '–' : writeMs(start)}
      </Text>
      <Stack gap={4} miw={0} flex={1}>
        <Group gap="xs">
          <Text size="sm" fw={600} className="as-written">
            {name}
          </Text>
          {badge}
          <Text size="xs" c="dimmed" className="as-written">
            {duration === null ? null : `${writeMs(duration)}${children ? ' · ' : ''}`}
            {children}
          </Text>
        </Group>
        {details}
      </Stack>
    </Group>
  )
}

const Retrieval = ({ span }: { span: SpanOf<'retrieval'> }) => (
  <Entry
    span={span}
    name="Retrieval"
    details={Array.from(span.passages.entries(), ([index, { title, section, score, text, used }]) => (
      <Details key={index} summary={`${index + 1}. ${section ? `${title} › ${section}` : title}`}>
        <Text size="xs" className="figures">
          Score {score.toPrecision(3)} · {used ? 'sent to the model' : 'not sent: over the token limit'}
        </Text>
        <TextBlock label={`Passage ${index + 1}`} text={text} />
      </Details>
    ))}
  >
    {span.passages.length === 1 ? '1 passage' : `${writeCount(span.passages.length)} passages`}
  </Entry>
)

function ModelCall({ span }: { span: SpanOf<'model_call'> }) {
  const { step, number, provider, model, usage, finish_reason: finish, time_to_first_text_ms: firstText, text, error } = span
  const facts = [
    provider === '' ? model : `${provider}/${model}`,
    ...(firstText === null ? [] : [`first text after ${writeMs(firstText)}`]),
    ...(usage === null
      ? []
      : [
          `${writeCount(usage.prompt_tokens)} tokens in, ${writeCount(usage.completion_tokens)} out${usage.estimated ? ' (estimated)' : ''}`,
        ]),
    ...(finish === null ? [] : [`finish reason ${finish}`]),
    ...(span.recorded === 'journal' ? ['from the journal'] : []),
  ]
  const details = (
    <>
      {error === null ? null : (
        <Text size="sm" className="as-written">
          {error.message}
        </Text>
      )}
      {text === null || text === '' ? null : (
        <Details summary="Text">
          <TextBlock label={`Text of step ${step}`} text={text} />
        </Details>
      )}
      {span.tool_calls.length === 0 ? null : (
        <Text size="sm" className="as-written">
          Calls {span.tool_calls.map(({ name }) => name).join(', ')}
        </Text>
      )}
      <Prompt span={span} />
    </>
  )
  return (
    <Entry
      span={span}
      name={`Model call, step ${step}${number !== null && number > 1 ? `, try ${number}` : ''}`}
      badge={error === null ? null : <Badge color="red">{error.kind.replaceAll('_', ' ')}</Badge>}
      details={details}
    >
      {facts.join(' · ')}
    </Entry>
  )
}

function Prompt({ span: { step, messages, tools } }: { span: SpanOf<'model_call'> }) {
  if (messages === null)
    return (
      <Text size="xs" c="dimmed">
        The prompt cannot be rebuilt from what is stored.
      </Text>
    )
  return (
    <Details summary={`Prompt (${messages.length === 1 ? '1 message' : `${writeCount(messages.length)} messages`})`}>
      {Array.from(messages.entries(), ([index, { role, content, tool_calls: calls = [] }]) => (
        <div key={index}>
          <Text size="xs" fw={600}>
            {role}
          </Text>
          {content === '' ? null : <TextBlock label={`Message ${index + 1} of step ${step}, ${role}`} text={content} />}
          {calls.map(({ id, name, arguments: given }) => (
            <TextBlock key={id} label={`Call ${id} of step ${step}`} text={`${name} ${given}`} />
          ))}
        </div>
      ))}
      {tools.length === 0 ? null : (
        <Text size="xs" className="as-written">
          Tools: {tools.map(({ name }) => name).join(', ')}
        </Text>
      )}
    </Details>
  )
}

const statuses: Record<SpanOf<'tool_call'>['status'], { word: string; color: string }> = {
  answered: { word: 'Succeeded', color: 'teal' },
  error: { word: 'Error', color: 'red' },
  not_made: { word: 'Not called', color: 'gray' },
  interrupted: { word: 'Outcome unknown', color: 'yellow' },
  running: { word: 'Running', color: 'blue' },
}

function ToolCall({ span }: { span: SpanOf<'tool_call'> }) {
  const { name, step, status, arguments: given, result } = span
  const { word, color } = statuses[status]
  return (
    <Entry
      span={span}
      name={`Tool call ${name}, step ${step}`}
      badge={<Badge color={color}>{word}</Badge>}
      details={
        <Details summary="Arguments and result">
          <TextBlock label={`Arguments of ${name}`} text={given} />
          {result === null ? null : <TextBlock label={`${status === 'error' ? 'Error' : 'Result'} of ${name}`} text={result} />}
        </Details>
      }
    >
      {span.recorded === 'journal' ? 'from the journal' : null}
    </Entry>
  )
}

const Details = ({ summary, children }: { summary: string; children: ReactNode }) => (
  <Box component="details">
    <Text component="summary" size="sm" className="as-written">
      {summary}
    </Text>
    <Stack gap={4} mt={4}>
      {children}
    </Stack>
  </Box>
)

const TextBlock = ({ label, text }: { label: string; text: string }) => (
  <Code block tabIndex={0} role="region" aria-label={label} mah={320} style={{ overflow: 'auto' }} className="as-written">
    {text}
  </Code>
)
