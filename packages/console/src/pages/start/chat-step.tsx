/** Step 4: a first message through the real pipeline, streamed and billed as any other. */
import { Anchor, Button, Group, Paper, Stack, Text, Textarea } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { FormEvent } from 'react'
import { Link } from 'wouter'
import { ApiFailure, segment } from '../../api/client.ts'
import { randomId } from '../../api/random-id.ts'
import { failureOfStream, streamTurn } from '../../api/stream.ts'
import type { Agent } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { Markdown } from '../../show/markdown.tsx'
import { Money } from '../../show/money.tsx'
import { FailureAdvice } from '../../show/failure-advice.tsx'
import { pacedText } from '../../show/paced-text.ts'

export function ChatStep({ agent, onAnswered, onDone }: { agent: Agent; onAnswered: () => void; onDone: () => void }) {
  const queries = useQueryClient()
  const [message, setMessage] = useState(
    agent.model.startsWith('demo/') ? 'What happens when I send the same Idempotency-Key twice?' : 'What can you do for me?',
  )
  const [reply, setReply] = useState('')
  // Belongs to the current message: a retry after a failure is neither answered nor charged twice.
  const unsent = useRef<{ message: string; key: string } | null>(null)
  const going = useRef<AbortController | null>(null)
  useEffect(() => () => going.current?.abort(), [])
  const send = useMutation({
    mutationFn: async (text: string) => {
      if (unsent.current?.message !== text) unsent.current = { message: text, key: randomId() }
      going.current = new AbortController()
      const { signal } = going.current
      const paced = pacedText(setReply)
      setReply('')
      try {
        const end = await streamTurn(
          `/agents/${segment(agent.id)}/playground`,
          { message: text },
          {
            signal,
            idempotencyKey: unsent.current.key,
            onEvent(event) {
              if (event.type === 'response.output_text.delta') paced.add(event.delta)
              if (event.type === 'response.output_text.reset') paced.restart()
            },
          },
        )
        if (end.type === 'error') throw failureOfStream(end)
        setReply(end.message.content)
        return end
      } finally {
        paced.end()
      }
    },
    onSuccess: () => {
      unsent.current = null
      onAnswered()
      for (const noun of ['owners', 'turns', 'conversations', 'usage']) void queries.invalidateQueries({ queryKey: [noun] })
    },
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (message.trim() !== '' && !send.isPending) send.mutate(message)
  }
  return (
    <Stack>
      <form onSubmit={submit}>
        <Stack gap="sm">
          <Textarea
            label="Message"
            autosize
            minRows={2}
            maxRows={8}
            value={message}
            onChange={(event) => setMessage(event.currentTarget.value)}
          />
          <Group>
            <Button type="submit" loading={send.isPending} disabled={message.trim() === ''}>
              Send
            </Button>
            <Text size="sm" c="dimmed" role="status">
              {send.isPending ? `${agent.name} is replying…` : ''}
              {send.data ? 'Reply received.' : ''}
            </Text>
          </Group>
        </Stack>
      </form>
      {reply === '' ? null : (
        <Paper withBorder p="md" component="section" aria-label="Reply" aria-busy={send.isPending}>
          <Markdown text={reply} />
        </Paper>
      )}
      <FailureNote error={send.isPending ? null : send.error} title="No reply" />
      {send.error instanceof ApiFailure && !send.isPending ? (
        <FailureAdvice code={send.error.code} agentId={agent.id} ownerId={agent.owner_id} />
      ) : null}
      {send.data ? (
        <>
          <Text size="sm">
            {send.data.usage.total_tokens} tokens, <Money amount={send.data.usage.charged_usd} /> charged.{' '}
            <Anchor component={Link} href={`/conversations/${segment(send.data.conversation_id)}`} underline="always" inherit>
              View turn details
            </Anchor>
          </Text>
          <div>
            <Button onClick={onDone}>Continue to API call</Button>
          </div>
        </>
      ) : null}
    </Stack>
  )
}
