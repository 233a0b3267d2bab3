/** Below a message of this visit: the reply so far, why there is no reply, and the possible actions. */
import { Button, Group, Loader, Stack, Text } from '@mantine/core'
import { FailureAdvice } from '../../show/failure-advice.tsx'
import { endOfReply } from '../../show/state-badge.tsx'
import { FailureNote } from '../../show/failure-note.tsx'
import type { Message } from '../../api/types.ts'
import { isReading } from './exchanges.ts'
import type { Exchange } from './exchanges.ts'
import { ReplyFoot } from './reply-foot.tsx'
import { Said } from './said.tsx'
import type { ReactNode } from 'react'

type LiveReplyProps = {
  exchange: Exchange
  /** The stored messages, including a reply that was not read to its end. */
  reply: Message | undefined
  /** Whether its turn is shown next to the conversation. */
  shown: boolean
  agent: { id: string; name: string; ownerId: string }
  /** Whether another reply is being read. */
  busy: boolean
  /** Beside the name: whether the reply is stored. */
  badge?: ReactNode
  name?: string
  onShow(): void
  onAskAgain(): void
  onTakeBack(): void
}

export function LiveReply({
  exchange,
  reply,
  shown,
  agent,
  busy,
  badge,
  name = agent.name,
  onShow,
  onAskAgain,
  onTakeBack,
}: LiveReplyProps) {
  const { failure, requestId } = exchange
  const state = reply ? 'completed' : exchange.state
  const text = reply?.content ?? exchange.text
  const code = failure?.code ?? 'connection_lost'
  const ended = state === 'failed' || state === 'refused'
  // The stream does not say why the text was cut off; the stored reply does.
  const end = reply?.turn
  const cancelled = end !== undefined && endOfReply(end) === 'cancelled'
  return (
    <Stack gap="xs">
      {text === '' && !badge ? null : <Said who={name} at={reply?.created_at ?? null} text={text} end={end} badge={badge} />}
      {state === 'sending' || (state === 'streaming' && text === '') ? <Busy text="The agent is replying…" /> : null}
      {state === 'awaiting' ? <Busy text="This message is still being answered. Waiting for the reply…" /> : null}
      {state === 'stopped' ? (
        <Text size="sm" role="status">
          Stopped waiting. The turn continues on the server, and its reply will be stored and charged once.
        </Text>
      ) : null}
      {state === 'cancelled' ? (
        <Text size="sm" role="status">
          Cancelled before the agent had replied. Only finished tool calls that have a price were charged. The message is not part of the
          conversation.
        </Text>
      ) : null}
      {state === 'completed' && cancelled ? (
        <Text size="sm" role="status">
          Cancelled. The text so far is the reply, and it is charged.
        </Text>
      ) : null}
      {state === 'lost' || ended ? (
        <>
          <FailureNote
            error={failure ?? (ended ? 'The turn ended without a reply.' : 'The connection ended before the reply.')}
            title={ended ? `No reply: ${code}` : 'Connection lost'}
          />
          <FailureAdvice code={code} agentId={agent.id} ownerId={agent.ownerId} />
        </>
      ) : null}
      {state === 'stopped' || state === 'lost' || state === 'cancelled' || ended ? (
        <Group gap="xs">
          {state === 'cancelled' ? null : (
            <Button size="xs" variant="default" disabled={busy} onClick={onAskAgain}>
              {state === 'stopped' ? 'Show reply' : 'Retry'}
            </Button>
          )}
          {ended || state === 'cancelled' ? (
            <Button size="xs" variant="default" onClick={onTakeBack}>
              Edit message
            </Button>
          ) : null}
        </Group>
      ) : null}
      {requestId === null || isReading(state) ? null : <ReplyFoot message={reply} shown={shown} onShow={onShow} took={exchange.tookMs} />}
    </Stack>
  )
}

export const Busy = ({ text }: { text: string }) => (
  <Group gap="xs" wrap="nowrap" role="status">
    <Loader size="xs" type="dots" aria-hidden />
    <Text size="sm" c="dimmed">
      {text}
    </Text>
  </Group>
)
