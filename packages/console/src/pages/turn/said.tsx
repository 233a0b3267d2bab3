/** What the external user wrote and what the agent replied. The reply of a running turn grows here. */
import { Group, Loader, Text } from '@mantine/core'
import type { TurnTrace, TurnWithSteps } from '../../api/types.ts'
import { FeedbackOfTurn } from '../../show/feedback.tsx'
import { useFollowEnd } from '../../show/follow-end.ts'
import { useLiveText } from '../../show/live-turn.tsx'
import { Markdown } from '../../show/markdown.tsx'
import classes from '../../show/trace.module.css'

/** The message of an external user that is too long for the title. */
export const Message = ({ text }: { text: string }) => (
  // A text may be long, so the keyboard must be able to scroll it.
  <div className={`${classes['bubble']} as-written`} role="region" aria-label="Message" tabIndex={0}>
    {text}
  </div>
)

/** The reply, and what the external user thought of it. */
export function Said({ trace, feedback }: { trace: TurnTrace; feedback: TurnWithSteps['feedback'] }) {
  const isRunning = trace.status === 'running'
  if (!isRunning && trace.reply === null && feedback === null) return null
  return (
    <div className={classes['said']}>
      {isRunning ? <LiveReply requestId={trace.request_id} /> : trace.reply === null ? null : <Reply text={trace.reply} />}
      <FeedbackOfTurn feedback={feedback} />
    </div>
  )
}

function LiveReply({ requestId }: { requestId: string }) {
  const text = useLiveText(requestId)
  return <Reply text={text} isLive />
}

function Reply({ text, isLive = false }: { text: string; isLive?: boolean }) {
  const { ref, onScroll } = useFollowEnd()
  return (
    <div>
      <Text size="xs" c="dimmed" mb={4}>
        Reply
      </Text>
      <div
        className={classes['reply']}
        role="region"
        aria-label={isLive ? 'Reply so far' : 'Reply'}
        aria-busy={isLive}
        tabIndex={0}
        {...(isLive ? { ref, onScroll } : {})}
      >
        {text === '' ? (
          <Group gap="xs" role="status">
            <Loader size="xs" type="dots" aria-hidden />
            <Text size="sm" c="dimmed">
              The agent is working on the reply.
            </Text>
          </Group>
        ) : (
          <Markdown text={text} />
        )}
      </div>
    </div>
  )
}
