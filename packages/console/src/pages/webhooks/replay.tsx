/** Sends the events of a range again, also those that the webhook missed while it was disabled or did not exist. */
import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { FormEvent } from 'react'
import { call, segment } from '../../api/client.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { refusalOf } from '../../show/refusal.ts'

const hourMs = 3_600_000
/** As an input of the type `datetime-local` has it, in the time zone of the browser. */
const localTime = (time: number): string => new Date(time - new Date(time).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)

/** Mounted while it is open. */
export function Replay({ id, onClose }: { id: string; onClose: () => void }) {
  const [range, setRange] = useState(() => ({ from: localTime(Date.now() - 24 * hourMs), to: localTime(Date.now() + 60_000) }))
  const queries = useQueryClient()
  const replay = useMutation({
    meta: { done: 'Replay started' },
    mutationFn: () =>
      call<{ deliveries: number }>(`/webhooks/${segment(id)}/replay`, {
        method: 'POST',
        body: { from: new Date(range.from).toISOString(), to: new Date(range.to).toISOString() },
      }),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['deliveries'] })
      onClose()
    },
  })
  const refused = refusalOf(replay.error, ['from', 'to'])
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    replay.mutate()
  }
  return (
    <Modal opened onClose={onClose} title="Replay events" size="md">
      <form noValidate onSubmit={submit}>
        <Stack>
          <Text size="sm">
            Every event of the range that this webhook matches is sent with the same webhook-id as before. A receiver that handles each ID
            once does nothing twice.
          </Text>
          {(['from', 'to'] as const).map((name) => (
            <TextInput
              key={name}
              type="datetime-local"
              label={name === 'from' ? 'From' : 'To'}
              {...(name === 'from' ? { description: 'Up to 30 days ago.' } : {})}
              value={range[name]}
              error={refused.at(name)}
              onChange={(event) => setRange({ ...range, [name]: event.currentTarget.value })}
            />
          ))}
          <FailureNote error={refused.rest} title="Could not replay the events" />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={replay.isPending} disabled={range.from === '' || range.to === ''}>
              Replay
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
