/** A turn without messages: what its user wrote, and its text so far if it is running, or why it ended without a reply and what to do. */
import { useTrace } from '../../api/turns.ts'
import { Box, Group, Text } from '@mantine/core'
import { memo } from 'react'
import type { useCancel } from '../../api/turns.ts'
import type { Turn } from '../../api/types.ts'
import { FailureAdvice, FailureText } from '../../show/failure-advice.tsx'
import { LiveTurn } from '../../show/live-turn.tsx'
import { StateBadge } from '../../show/state-badge.tsx'
import style from './chat.module.css'
import { ClockTime } from './clock-time.tsx'
import { TraceButton, UserText } from './message-row.tsx'

const said = {
  completed: 'The reply was stored.',
  failed: 'The turn ended without a reply.',
  released: 'No reply yet. If the caller retries, the same turn runs again.',
  cancelled: 'The turn was cancelled before there was any text.',
} as const

type TurnRowProps = {
  turn: Turn
  cancel: ReturnType<typeof useCancel>
  isOpen: boolean
  onOpen: (requestId: string) => void
}

export const TurnRow = memo(function TurnRow({ turn, cancel, isOpen, onOpen }: TurnRowProps) {
  const { request_id: requestId, status, failure, created_at: at, agent_id: agentId, owner_id: ownerId } = turn
  const isFailure = failure !== null && status !== 'cancelled'
  return (
    <>
      <WhatUserWrote requestId={requestId} at={at} />
      <Box className={style[isFailure ? 'failure' : 'ended']} mt="xs" {...(isOpen ? { 'data-open': true } : {})}>
        <Group gap="xs" mb={4}>
          <StateBadge state={status} />
          {status === 'running' ? null : <Text size="sm">{said[status]}</Text>}
          <ClockTime at={turn.ended_at ?? at} />
        </Group>
        {status === 'running' ? <LiveTurn requestId={requestId} cancel={cancel} /> : null}
        {isFailure ? (
          <>
            <div className={style['cause']}>
              <FailureText failure={failure} />
            </div>
            <FailureAdvice code={failure.code} agentId={agentId} ownerId={ownerId} />
          </>
        ) : null}
        <Group gap="xs" mt={8}>
          <TraceButton requestId={requestId} isOpen={isOpen} onOpen={onOpen} />
        </Group>
      </Box>
    </>
  )
})

/** Only a turn with a reply has messages; the trace has what was sent, until it is erased. */
function WhatUserWrote({ requestId, at }: { requestId: string; at: string }) {
  const trace = useTrace(requestId)
  if (trace.data) return <UserText text={trace.data.message} at={at} />
  return (
    <>
      <div className={style['user']}>
        <Text span inherit c="dimmed">
          {trace.error ? 'The message could not be loaded, or was erased.' : 'Loading the message…'}
        </Text>
      </div>
      {/* As high as the loaded message, so that nothing moves. */}
      <Group justify="flex-end" mt={4}>
        <ClockTime at={at} />
      </Group>
    </>
  )
}
