/** One model call: the messages that were sent, the answer, the parameters and tools, and the tokens by kind. */
import { Box, Stack, Tabs, Text } from '@mantine/core'
import { useState } from 'react'
import { writeCount, writeMs } from './measures.ts'
import { Facts, SpanError } from './trace-parts.tsx'
import { TraceText } from './trace-text.tsx'
import type { SpanOf } from './trace-attempts.ts'
import classes from './trace.module.css'

type ModelCall = SpanOf<'model_call'>

/** `isCancelled`: the cancel of the turn stopped the call. */
export function ModelCallDetails({ span, isCancelled }: { span: ModelCall; isCancelled: boolean }) {
  const [tab, setTab] = useState<string | null>('sent')
  const { provider, model, usage, time_to_first_text_ms: firstText, error, messages } = span
  const facts = [
    provider === '' ? model : `${provider}/${model}`,
    ...(firstText === null ? [] : [`first text after ${writeMs(firstText)}`]),
    ...(usage === null
      ? []
      : [
          `${writeCount(usage.prompt_tokens)} tokens in, ${writeCount(usage.completion_tokens)} out${usage.estimated ? ' (estimated)' : ''}`,
        ]),
  ]
  return (
    <Stack gap="sm">
      <Text size="sm" className="as-written">
        {facts.join(' · ')}
      </Text>
      {error === null ? null : isCancelled ? (
        <Text size="sm">The turn was cancelled during this call.</Text>
      ) : (
        <SpanError kind={error.cause_kind ?? error.kind} message={error.message} />
      )}
      <Tabs value={tab} onChange={setTab} keepMounted={false}>
        <Tabs.List>
          <Tabs.Tab value="sent">Sent{messages === null ? '' : ` (${writeCount(messages.length)})`}</Tabs.Tab>
          <Tabs.Tab value="returned">Returned</Tabs.Tab>
          <Tabs.Tab value="parameters">Parameters</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="sent" pt="sm">
          <Sent span={span} />
        </Tabs.Panel>
        <Tabs.Panel value="returned" pt="sm">
          <Returned span={span} isCancelled={isCancelled} />
        </Tabs.Panel>
        <Tabs.Panel value="parameters" pt="sm">
          <Parameters span={span} />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  )
}

const roles = { system: 'System prompt', user: 'User', assistant: 'Assistant', tool: 'Tool result' } as const

function Sent({ span: { messages } }: { span: ModelCall }) {
  if (messages === null)
    return (
      <Text size="sm" c="dimmed">
        The prompt cannot be rebuilt from what is stored.
      </Text>
    )
  const placed = Array.from(messages.entries(), ([index, message]) => ({ ...message, index }))
  // Between the system prompt and the message of this turn.
  const current = messages.findLastIndex(({ role }) => role === 'user')
  const history = placed.filter(({ role, index }) => role !== 'system' && index < current)
  const rest = placed.filter((message) => !history.includes(message))
  const [prompt, answered] = [rest.filter(({ role }) => role === 'system'), rest.filter(({ role }) => role !== 'system')]
  return (
    <Stack gap="sm">
      <Messages messages={prompt} />
      {history.length === 0 ? null : (
        <details className={classes['history']}>
          <summary>History ({history.length === 1 ? '1 message' : `${writeCount(history.length)} messages`})</summary>
          <Box mt="sm">
            <Messages messages={history} />
          </Box>
        </details>
      )}
      <Messages messages={answered} />
    </Stack>
  )
}

type Message = NonNullable<ModelCall['messages']>[number] & { index: number }

const Messages = ({ messages }: { messages: readonly Message[] }) => (
  <Stack gap="sm">
    {messages.map(({ index, role, content, tool_calls: calls = [] }) => (
      <Stack gap={6} key={index}>
        {content === '' ? null : (
          <TraceText label={`Message ${index + 1}, ${role}`} heading={roles[role]} text={content} code={role === 'tool'} />
        )}
        {calls.map(({ id, name, arguments: given }) => (
          <TraceText key={id} label={`Message ${index + 1}, call ${id}`} heading={`Assistant calls ${name}`} text={given} code />
        ))}
      </Stack>
    ))}
  </Stack>
)

type ReturnedProps = { span: ModelCall; isCancelled: boolean }

function Returned({ span: { text, tool_calls: calls, error, duration_ms: ms }, isCancelled }: ReturnedProps) {
  const isEmpty = (text === null || text === '') && calls.length === 0
  return (
    <Stack gap="sm">
      {isEmpty ? (
        <Text size="sm" c="dimmed">
          {error
            ? `Nothing arrived before the ${isCancelled ? 'cancel' : 'error'}.`
            : ms === null
              ? 'The model is still answering.'
              : 'The answer has no text and no tool calls.'}
        </Text>
      ) : null}
      {text === null || text === '' ? null : <TraceText label="Text" text={text} />}
      {calls.map(({ id, name, arguments: given }) => (
        <TraceText key={id} label={`Requested call ${id}`} heading={`Calls ${name}`} text={given} code />
      ))}
    </Stack>
  )
}

function Parameters({ span }: { span: ModelCall }) {
  const { parameters, usage, finish_reason: finish, skipped, tools, step, number } = span
  return (
    <Stack gap="md">
      <Facts
        facts={[
          ['Temperature', parameters.temperature ?? 'model default'],
          ['Max output tokens', writeCount(parameters.max_output_tokens)],
          ['Finish reason', finish ?? 'none'],
          ...(skipped.length === 0
            ? []
            : [['Not read', skipped.map(({ what, count }) => `${what} (${writeCount(count)})`).join(', ')] as const]),
          ['Step', writeCount(step)],
          ...(number === null ? [] : [['Try', writeCount(number)] as const]),
        ]}
      />
      {usage === null ? null : <Facts facts={tokensOf(usage)} />}
      {tools.map(({ name, description, parameters: schema }) => (
        <TraceText key={name} label={`Tool ${name}`} heading={`Tool ${name}: ${description}`} text={JSON.stringify(schema)} code />
      ))}
    </Stack>
  )
}

function tokensOf(usage: NonNullable<ModelCall['usage']>): [string, string][] {
  const { cached_tokens: cached, cache_write_tokens: written } = usage.prompt_tokens_details
  const { reasoning_tokens: reasoning } = usage.completion_tokens_details
  const kinds: [string, number, boolean][] = [
    ['Prompt tokens', usage.prompt_tokens, true],
    ['of them cached', cached, cached > 0],
    ['of them written to the cache', written, written > 0],
    ['Completion tokens', usage.completion_tokens, true],
    ['of them reasoning', reasoning, reasoning > 0],
  ]
  return kinds.filter(([, , shown]) => shown).map(([name, count]) => [name, writeCount(count)])
}
