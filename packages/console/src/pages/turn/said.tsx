/** What the external user wrote and what the agent replied. The reply of a running turn grows here. */
import { Group, Loader, Text } from '@mantine/core'
import type { TurnTrace } from '../../api/types.ts'
import { useFollowEnd } from '../../show/follow-end.ts'
import { useLiveText } from '../../show/live-turn.tsx'
import { Markdown } from '../../show/markdown.tsx'
import classes from '../../show/trace.module.css'

export const Said = ({ trace, withMessage }: { trace: TurnTrace; withMessage: boolean }) => (
  <section className={classes['bubbles']} aria-label="Message and reply">
    {withMessage ? (
      // A text may be long, so the keyboard must be able to scroll it.
      <div className={`${classes['bubble']} as-written`} data-role="user" role="region" aria-label="Message" tabIndex={0}>
        {trace.message}
      </div>
    ) : null}
    {trace.status === 'running' ? <LiveReply requestId={trace.request_id} /> : <Reply text={trace.reply} />}
  </section>
)

function LiveReply({ requestId }: { requestId: string }) {
  const text = useLiveText(requestId)
  return <Reply text={text === '' ? null : text} isLive />
}

function Reply({ text, isLive = false }: { text: string | null; isLive?: boolean }) {
  const { ref, onScroll } = useFollowEnd()
  if (text === null && !isLive) return null
  return (
    <div
      className={classes['bubble']}
      data-role="assistant"
      role="region"
      aria-label={isLive ? 'Reply so far' : 'Reply'}
      aria-busy={isLive}
      tabIndex={0}
      {...(isLive ? { ref, onScroll } : {})}
    >
      {text === null ? (
        <Group gap="xs">
          <Loader size="xs" type="dots" aria-hidden />
          <Text size="sm" c="dimmed" role="status">
            The agent is working on the reply.
          </Text>
        </Group>
      ) : (
        <Markdown text={text} />
      )}
    </div>
  )
}
