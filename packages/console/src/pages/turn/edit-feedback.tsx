/** The form for the feedback on a turn. Escape closes it without saving, Ctrl Enter saves. */
import { Button, Group, Radio, Stack, TagsInput, Textarea } from '@mantine/core'
import { useState } from 'react'
import type { GivenFeedback } from '../../api/turns.ts'
import type { Refusal } from '../../show/refusal.ts'

// The limits of the API.
const maxComment = 2_000
const maxTags = 20
const maxTag = 64

type EditFeedbackProps = {
  feedback: GivenFeedback
  pending: boolean
  refused: Pick<Refusal<keyof GivenFeedback>, 'at'>
  onSave: (feedback: GivenFeedback) => void
  onCancel: () => void
}

export function EditFeedback({ feedback, pending, refused, onSave, onCancel }: EditFeedbackProps) {
  const [rating, setRating] = useState(feedback.rating)
  const [comment, setComment] = useState(feedback.comment ?? '')
  const [tags, setTags] = useState(feedback.tags)
  const save = (): void => onSave({ rating, comment: comment.trim() === '' ? null : comment, tags })
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        save()
      }}
    >
      <Stack
        gap="sm"
        maw={560}
        onKeyDown={(event) => {
          if (event.key === 'Escape') onCancel()
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !pending) save()
        }}
      >
        <Radio.Group
          label="Rating"
          value={rating}
          onChange={(chosen) => setRating(chosen === 'up' ? 'up' : 'down')}
          error={refused.at('rating')}
        >
          <Group gap="md" mt={4}>
            <Radio value="up" label="Up" />
            <Radio value="down" label="Down" />
          </Group>
        </Radio.Group>
        <Textarea
          label="Comment"
          value={comment}
          onChange={({ currentTarget: { value } }) => setComment(value)}
          maxLength={maxComment}
          error={refused.at('comment')}
          autosize
          minRows={2}
          maxRows={8}
          autoFocus
        />
        <TagsInput
          label="Tags"
          description={`Press Enter after each. The list of feedback can filter by them. At most ${maxTags}.`}
          value={tags}
          onChange={(next) => setTags(next.map((tag) => tag.slice(0, maxTag).toWellFormed()))}
          maxTags={maxTags}
          error={refused.at('tags')}
          acceptValueOnBlur
        />
        <Group gap="xs">
          <Button type="submit" size="sm" loading={pending}>
            Save feedback
          </Button>
          <Button variant="default" size="sm" onClick={onCancel}>
            Cancel
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
