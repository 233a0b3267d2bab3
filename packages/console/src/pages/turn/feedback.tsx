/** The feedback on a turn: give, change and remove it in place. A toast undoes each change. */
import { Button, Group, Text } from '@mantine/core'
import { IconThumbDown, IconThumbUp } from '@tabler/icons-react'
import { Suspense, lazy, useRef, useState } from 'react'
import { useSaveFeedback } from '../../api/turns.ts'
import type { GivenFeedback } from '../../api/turns.ts'
import type { TurnWithSteps } from '../../api/types.ts'
import { Allowed } from '../../show/allowed.tsx'
import { FailureNote } from '../../show/failure-note.tsx'
import { FeedbackOfTurn } from '../../show/feedback.tsx'
import { refusalOf } from '../../show/refusal.ts'
import { useToast } from '../../show/toasts.tsx'

const EditFeedback = lazy(() => import('./edit-feedback.tsx').then(({ EditFeedback: part }) => ({ default: part })))

type FeedbackProps = { requestId: string; feedback: TurnWithSteps['feedback'] }

export function Feedback({ requestId, feedback }: FeedbackProps) {
  const save = useSaveFeedback(requestId)
  const toast = useToast()
  const [isEdited, setEdited] = useState(false)
  const refused = refusalOf(save.error, isEdited ? ['rating', 'comment', 'tags'] : [])
  // What was clicked disappears, so the focus goes to the group.
  const group = useRef<HTMLDivElement>(null)
  const change = (given: GivenFeedback | null): void =>
    save.mutate(given, {
      onSuccess() {
        close()
        const undo = (): void => save.mutate(feedback, { onSuccess: () => toast('Feedback restored') })
        toast(given === null ? 'Feedback removed' : 'Feedback saved', undo)
      },
    })
  function close(): void {
    setEdited(false)
    group.current?.focus()
  }
  return (
    <div ref={group} tabIndex={-1} role="group" aria-label="Feedback">
      {isEdited && feedback ? (
        <Suspense>
          <EditFeedback feedback={feedback} pending={save.isPending} refused={refused} onSave={change} onCancel={close} />
        </Suspense>
      ) : feedback ? (
        <>
          <FeedbackOfTurn feedback={feedback} />
          <Allowed permission="agents">
            <Group gap="xs" mt="xs">
              <Button size="compact-sm" variant="default" onClick={() => setEdited(true)}>
                Edit feedback
              </Button>
              <Button size="compact-sm" variant="subtle" color="gray" loading={save.isPending} onClick={() => change(null)}>
                Remove
              </Button>
            </Group>
          </Allowed>
        </>
      ) : (
        <Rate pending={save.isPending} onRate={(rating) => change({ rating, comment: null, tags: [] })} />
      )}
      <FailureNote error={refused.rest} title="Could not save the feedback" />
    </div>
  )
}

function Rate({ pending, onRate }: { pending: boolean; onRate: (rating: GivenFeedback['rating']) => void }) {
  return (
    <Group gap="xs">
      <Text size="sm" c="dimmed">
        No feedback yet.
      </Text>
      <Allowed permission="agents">
        <Button
          size="compact-sm"
          variant="default"
          disabled={pending}
          leftSection={<IconThumbUp size={14} aria-hidden="true" />}
          onClick={() => onRate('up')}
        >
          Up
        </Button>
        <Button
          size="compact-sm"
          variant="default"
          disabled={pending}
          leftSection={<IconThumbDown size={14} aria-hidden="true" />}
          onClick={() => onRate('down')}
        >
          Down
        </Button>
      </Allowed>
    </Group>
  )
}
