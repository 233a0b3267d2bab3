/** Why a turn has no reply, or only the start of one: the words of the provider, what to do about it, and what its caller got. */
import { Stack, Text } from '@mantine/core'
import type { TurnWithSteps } from '../../api/types.ts'
import { callerSaw } from '../../show/caller-saw.ts'
import { PartialReplyText } from '../../show/cancel-turn.tsx'
import { endOfReply, meaningOfEnd } from '../../show/state-badge.tsx'
import { FailureAdvice } from '../../show/failure-advice.tsx'
import classes from '../../show/trace.module.css'

export function TurnFailure({ turn }: { turn: TurnWithSteps }) {
  const { failure, state, usage } = turn
  const end = endOfReply(turn)
  if (end)
    return (
      <section aria-label="Cause">
        <Stack gap={6}>
          <Text size="sm" fw={500} c="var(--tk-ink)" role="status">
            {end === 'cancelled' ? (
              <>
                The turn was cancelled. <PartialReplyText usage={usage} />
              </>
            ) : (
              meaningOfEnd(end)
            )}
          </Text>
          <CallerSaw turn={turn} />
        </Stack>
      </section>
    )
  if (state === 'running' || state === 'completed') return null
  const code = failure?.code ?? 'turn_cancelled'
  return (
    <section className={state === 'cancelled' ? undefined : classes['failure']} aria-label="Cause">
      <Stack gap={6}>
        {state === 'cancelled' ? null : (
          <div>
            <Text size="xs" ff="monospace" fw={600} c="var(--tk-bad)">
              {failure?.cause_kind ?? code}
            </Text>
            <Text size="sm" fw={500} c="var(--tk-ink)" className="as-written">
              {failure?.cause ?? 'No cause recorded.'}
            </Text>
          </div>
        )}
        <FailureAdvice code={code} agentId={turn.agent_id} ownerId={turn.owner_id} />
        <CallerSaw turn={turn} />
      </Stack>
    </section>
  )
}

function CallerSaw({ turn }: { turn: TurnWithSteps }) {
  const { response, stream, retry } = callerSaw(turn)
  return (
    <Text size="sm" c="var(--tk-text)">
      The caller saw{' '}
      <Text span inherit ff="monospace" fz="xs" fw={600}>
        {response}
      </Text>
      ; on a stream, {stream}.{turn.attempts > 1 ? ' A caller whose connection ended with a process saw neither.' : ''} {retry}
    </Text>
  )
}
