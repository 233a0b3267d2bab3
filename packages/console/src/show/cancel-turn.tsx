/** The button that cancels a running turn without asking, and what happened then. */
import { Alert, Button, Text } from '@mantine/core'
import type { UseMutationResult } from '@tanstack/react-query'
import type { TurnWithSteps } from '../api/types.ts'
import { FailureNote } from './failure-note.tsx'
import { Money } from './money.tsx'
import { endOfId } from './turn-cells.tsx'
import { Allowed } from './allowed.tsx'

type Cancel = UseMutationResult<TurnWithSteps, Error, string>

type CancelButtonProps = { requestId: string; cancel: Cancel; size?: 'compact-sm' | 'sm' }

/** `cancel` belongs to the parent, because the button disappears with the running turn. */
export function CancelButton({ requestId, cancel, size = 'compact-sm' }: CancelButtonProps) {
  return (
    <Allowed permission="agents">
      <Button
        size={size}
        variant="default"
        loading={cancel.isPending && cancel.variables === requestId}
        aria-label={`Cancel turn ${requestId}`}
        onClick={() => cancel.mutate(requestId)}
      >
        Cancel turn
      </Button>
    </Allowed>
  )
}

/** What the last cancel did. */
export function CancelOutcome({ cancel }: { cancel: Cancel }) {
  if (cancel.error) return <FailureNote error={cancel.error} title="Could not cancel the turn" />
  if (!cancel.data) return null
  return (
    <Alert color="gray" variant="light" role="status" py="xs">
      <Text size="sm">
        Turn …{endOfId(cancel.data.request_id)}: <CancelText turn={cancel.data} />
      </Text>
    </Alert>
  )
}

function CancelText({ turn: { state, incomplete, finish_reason: finish, usage } }: { turn: TurnWithSteps }) {
  if (state === 'running') return 'being cancelled. It ends when its current tool call has ended.'
  if (state === 'cancelled') return 'cancelled before there was any text. Only finished tool calls that have a price were charged.'
  if (state !== 'completed' || !incomplete || finish !== null) return 'it had already ended.'
  return (
    <>
      cancelled. <PartialReplyText usage={usage} />
    </>
  )
}

/** Of a turn that was cancelled after some text. */
export const PartialReplyText = ({ usage }: Pick<TurnWithSteps, 'usage'>) => (
  <>
    The text so far is the reply, marked as incomplete
    {usage ? (
      <>
        ; <Money amount={usage.charged_usd} /> was charged
      </>
    ) : null}
    .
  </>
)
