/** What the end user wrote and what the agent replied. The reply of a running turn grows here. */
import { Anchor, Group, Loader, Text } from '@mantine/core'
import { memo, useState } from 'react'
import type { TurnWithSteps } from '../../api/types.ts'
import { Allowed } from '../../show/allowed.tsx'
import { useFollowEnd } from '../../show/follow-end.ts'
import { useLiveText } from '../../show/live-turn.tsx'
import { Markdown } from '../../show/markdown.tsx'
import { writeCount } from '../../show/measures.ts'
import classes from '../../show/trace.module.css'
import { Feedback } from './feedback.tsx'

/** The message of an end user that is too long for the title. */
export const Message = ({ text }: { text: string }) => (
  // A text may be long, so the keyboard must be able to scroll it.
  <div className={`${classes['bubble']} as-written`} role="region" aria-label="Message" tabIndex={0}>
    {text}
  </div>
)

type SaidProps = {
  requestId: string
  isRunning: boolean
  reply: string | null
  /** Undefined: not loaded yet. */
  feedback: TurnWithSteps['feedback'] | undefined
}

/** The reply, and what the end user thought of it. Memoized, because a long reply takes longer to draw than a selected span. */
export const Said = memo(function Said({ requestId, isRunning, reply, feedback }: SaidProps) {
  return (
    <div className={classes['said']}>
      {isRunning ? <LiveReply requestId={requestId} /> : reply === null ? null : <Reply text={reply} />}
      {isRunning || feedback === undefined ? null : (
        <Allowed permission="conversations">
          <Feedback requestId={requestId} feedback={feedback} />
        </Allowed>
      )}
    </div>
  )
})

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
        ) : isLive ? (
          <Markdown text={text} />
        ) : (
          <Whole text={text} />
        )}
      </div>
    </div>
  )
}

// A reply of more characters than this takes a browser too long to draw as Markdown. Its start is enough to recognize it.
const longestMarkdown = 8_000
const startOfLong = 3_000

function Whole({ text }: { text: string }) {
  const [isShown, setShown] = useState(false)
  if (text.length <= longestMarkdown) return <Markdown text={text} />
  if (isShown) return <div className="as-written">{text}</div>
  return (
    <>
      <Markdown text={`${text.slice(0, startOfLong).toWellFormed()}…`} />
      <Anchor component="button" type="button" size="sm" onClick={() => setShown(true)}>
        Show all {writeCount(text.length)} characters as text
      </Anchor>
    </>
  )
}
