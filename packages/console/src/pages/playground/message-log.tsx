/** The stored messages of a conversation, and below them those of this visit. */
import { Button } from '@mantine/core'
import type { Agent, Message } from '../../api/types.ts'
import { useCancel } from '../../api/turns.ts'
import { Empty } from '../../show/empty.tsx'
import { FailureNote } from '../../show/failure-note.tsx'
import type { useFollowEnd } from '../../show/follow-end.ts'
import { LiveTurn } from '../../show/live-turn.tsx'
import { CancelOutcome } from '../../show/cancel-turn.tsx'
import { Busy } from './live-reply.tsx'
import classes from './playground.module.css'
import { ReplyFoot } from './reply-foot.tsx'
import { RoundView } from './round-view.tsx'
import type { Rounds, Shown } from './rounds.ts'
import { Asked, Said } from './said.tsx'
import { useRunningTurn } from './stored-conversation.ts'
import type { useStoredConversation } from './stored-conversation.ts'

type MessageLogProps = {
  agent: Agent
  externalUserId: string
  stored: ReturnType<typeof useStoredConversation>
  rounds: Rounds
  replyOf(requestId: string | null): Message | undefined
  shown: Shown | null
  onShow(shown: Shown): void
  onWrite(text: string): void
  comparing: boolean
  end: ReturnType<typeof useFollowEnd>
}

export function MessageLog(props: MessageLogProps) {
  const { agent, externalUserId, stored, rounds, shown, onShow, comparing, end } = props
  const { conversation, messages, error } = stored
  const cancel = useCancel()
  const running = useRunningTurn(agent.id, conversation?.id, rounds.exchanges.reading)
  // The messages of this visit keep their order, including those without a reply.
  const ofThisVisit = new Set(rounds.exchanges.all.map(({ requestId }) => requestId))
  const before = messages.items.filter(({ request_id: id }) => !ofThisVisit.has(id)).toReversed()
  const loading = !error && (conversation === undefined || (conversation !== null && messages.query.isPending))
  return (
    <div
      ref={end.ref}
      onScroll={end.onScroll}
      role="log"
      aria-label="Conversation"
      aria-busy={rounds.reading}
      tabIndex={0}
      className={classes['log']}
    >
      <div className={classes['column']} data-wide={comparing || undefined}>
        {messages.more ? (
          <Button size="xs" variant="default" loading={messages.query.isFetchingNextPage} onClick={messages.loadMore}>
            Load earlier messages
          </Button>
        ) : null}
        <FailureNote error={error} title="Could not load earlier messages" />
        {loading ? <Busy text="Loading conversation…" /> : null}
        {before.length === 0 && rounds.all.length === 0 && !loading && !error ? (
          <Empty title="No messages yet">
            Send a message below. The agent replies as it would to a caller, with history, knowledge, and tools.
          </Empty>
        ) : null}
        {before.map((message) =>
          message.role === 'user' ? (
            <Asked key={message.id} who={externalUserId} text={message.content} />
          ) : (
            <Said key={message.id} who={agent.name} at={message.created_at} text={message.content} end={message.turn}>
              <ReplyFoot
                message={message}
                shown={shown?.kind === 'turn' && message.request_id === shown.requestId}
                onShow={() => onShow({ kind: 'turn', requestId: message.request_id })}
              />
            </Said>
          ),
        )}
        {rounds.all.map((round) => (
          <RoundView key={round.id} {...props} round={round} />
        ))}
        <CancelOutcome cancel={cancel} />
        {running ? <LiveTurn requestId={running.request_id} cancel={cancel} /> : null}
      </div>
    </div>
  )
}
