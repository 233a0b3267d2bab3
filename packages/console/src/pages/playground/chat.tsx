/** One conversation of the operator with an agent: what is stored and what is said now, and next to it the turn of the selected reply. */
import { Button, Grid, Paper, Stack } from '@mantine/core'
import { Fragment, useEffect, useRef, useState } from 'react'
import type { Agent, Message } from '../../api/types.ts'
import { useCancel } from '../../api/turns.ts'
import { Empty } from '../../show/empty.tsx'
import { FailureNote } from '../../show/failure-note.tsx'
import { LiveTurn } from '../../show/live-turn.tsx'
import { StopOutcome } from '../../show/stop-turn.tsx'
import { useExchanges } from './exchanges.ts'
import { useFollowEnd } from '../../show/follow-end.ts'
import { Busy, LiveReply } from './live-reply.tsx'
import { MessageBox } from './message-box.tsx'
import { ReplyFoot } from './reply-foot.tsx'
import { Said } from './said.tsx'
import { useRunningTurn, useStoredConversation } from './stored-conversation.ts'
import { TurnPanel } from './turn-panel.tsx'

type ChatProps = {
  agent: Agent
  externalUserId: string
  /** Start in the message box. */
  focus: boolean
}

export function Chat({ agent, externalUserId, focus }: ChatProps) {
  const [text, setText] = useState('')
  const [shown, setShown] = useState<string | null>(null)
  const box = useRef<HTMLTextAreaElement>(null)
  const exchanges = useExchanges(agent.id, externalUserId, setShown)
  const { conversation, messages, error } = useStoredConversation(agent.id, externalUserId)
  const cancel = useCancel()
  const running = useRunningTurn(agent.id, conversation?.id, exchanges.reading)
  // The messages of this visit keep their order, including those without a reply.
  const ofThisVisit = new Set(exchanges.all.map(({ requestId }) => requestId))
  const before = messages.items.filter(({ request_id: id }) => !ofThisVisit.has(id)).toReversed()
  const replies = new Map(messages.items.filter(({ role }) => role === 'assistant').map((reply) => [reply.request_id, reply]))
  const replyOf = (requestId: string | null): Message | undefined => (requestId === null ? undefined : replies.get(requestId))
  const { ref: log, onScroll, follow } = useFollowEnd()
  const requestId = shown ?? [...replies.keys()][0] ?? null
  const reading = !error && (conversation === undefined || (conversation !== null && messages.query.isPending))
  useEffect(() => {
    if (focus) box.current?.focus()
  }, [focus])
  const write = (written: string): void => {
    setText(written)
    box.current?.focus()
  }

  return (
    <Grid gap="lg">
      <Grid.Col span={{ base: 12, lg: 7 }}>
        <Stack>
          <Paper
            withBorder
            p="md"
            ref={log}
            onScroll={onScroll}
            role="log"
            aria-label="Conversation"
            aria-busy={exchanges.reading}
            tabIndex={0}
            mih={160}
            mah="60dvh"
            style={{ overflowY: 'auto' }}
          >
            <Stack gap="md">
              {messages.more ? (
                <Button size="xs" variant="default" loading={messages.query.isFetchingNextPage} onClick={messages.loadMore}>
                  Load earlier messages
                </Button>
              ) : null}
              <FailureNote error={error} title="Could not load earlier messages" />
              {reading ? <Busy text="Loading conversation…" /> : null}
              {before.length === 0 && exchanges.all.length === 0 && !reading && !error ? (
                <Empty title="No messages yet">
                  Send a message below. The agent replies as it would to a caller, with history, knowledge, and tools.
                </Empty>
              ) : null}
              {before.map((message) =>
                message.role === 'user' ? (
                  <Said key={message.id} who={externalUserId} at={message.created_at} text={message.content} />
                ) : (
                  <Said
                    key={message.id}
                    who={agent.name}
                    at={message.created_at}
                    text={message.content}
                    incomplete={message.turn.incomplete}
                    markdown
                  >
                    <ReplyFoot message={message} shown={message.request_id === requestId} onShow={() => setShown(message.request_id)} />
                  </Said>
                ),
              )}
              {exchanges.all.map((exchange) => (
                <Fragment key={exchange.idempotencyKey}>
                  <Said who={externalUserId} at={exchange.at} text={exchange.message} />
                  <LiveReply
                    exchange={exchange}
                    reply={replyOf(exchange.requestId)}
                    shown={exchange.requestId !== null && exchange.requestId === requestId}
                    agent={{ id: agent.id, name: agent.name, ownerId: agent.owner_id }}
                    busy={exchanges.reading}
                    onShow={() => setShown(exchange.requestId)}
                    onAskAgain={() => {
                      exchanges.askAgain(exchange.idempotencyKey)
                      box.current?.focus()
                    }}
                    onTakeBack={() => write(exchanges.takeBack(exchange.idempotencyKey))}
                  />
                </Fragment>
              ))}
              <StopOutcome cancel={cancel} />
              {running ? <LiveTurn requestId={running.request_id} cancel={cancel} /> : null}
            </Stack>
          </Paper>
          <FailureNote error={exchanges.stopFailure} title="Could not stop the turn" />
          <MessageBox
            box={box}
            text={text}
            onChange={setText}
            longest={agent.max_message_length}
            reading={exchanges.reading}
            stopping={exchanges.stopping}
            onStop={() => {
              exchanges.stop()
              box.current?.focus()
            }}
            onSend={() => {
              follow()
              exchanges.send(text)
              write('')
            }}
          />
        </Stack>
      </Grid.Col>
      <Grid.Col span={{ base: 12, lg: 5 }}>
        <TurnPanel requestId={requestId} reply={replyOf(requestId)} />
      </Grid.Col>
    </Grid>
  )
}
