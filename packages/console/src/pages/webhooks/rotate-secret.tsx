/** Gives a webhook a new signing secret, and shows it once. It is only in this dialog's memory. */
import { Alert, Button, Group, Modal, Radio, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { FormEvent } from 'react'
import { call, segment } from '../../api/client.ts'
import type { ShownWebhook } from '../../api/types.ts'
import { CodeBlock } from '../../show/code-block.tsx'
import { FailureNote } from '../../show/failure-note.tsx'
import { ShownOnce } from '../../show/shown-once.tsx'

const graces = [
  { seconds: '0', label: 'Immediately', means: 'Choose this if the old secret may have leaked.' },
  { seconds: '86400', label: '24 hours', means: 'For a receiver that gets the new secret with its next release.' },
  { seconds: '604800', label: '7 days', means: 'For receivers that other teams run.' },
]

/** Mounted while it is open. */
export function RotateSecret({ id, onClose }: { id: string; onClose: () => void }) {
  const [secret, setSecret] = useState<string | null>(null)
  const [grace, setGrace] = useState('86400')
  const queries = useQueryClient()
  // Without a result, because the query cache would keep the secret.
  const rotate = useMutation({
    mutationFn: async (): Promise<void> =>
      setSecret(
        (await call<ShownWebhook>(`/webhooks/${segment(id)}/rotate-secret`, { method: 'POST', body: { grace_seconds: Number(grace) } }))
          .secret,
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['webhooks'] }),
  })
  if (secret !== null)
    return (
      <ShownOnce title="Signing secret" size="lg" stored="I have stored the secret" onStored={onClose}>
        <Alert color="yellow" variant="light" title="Copy the signing secret now">
          It is shown only once. Your receiver verifies deliveries with it. If you lose it, rotate it again.
        </Alert>
        <CodeBlock text={secret} label="Signing secret" />
      </ShownOnce>
    )
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    rotate.mutate()
  }
  return (
    <Modal opened onClose={onClose} title="Rotate signing secret" size="lg">
      <form noValidate onSubmit={submit}>
        <Stack>
          <Text>
            Rotating creates a new secret, which is shown once. During the grace period, deliveries also have a signature of the old secret.
            Secrets of earlier rotations sign until their own grace periods end. “Immediately” ends all of them.
          </Text>
          <Radio.Group label="Grace period for the old secret" value={grace} onChange={setGrace}>
            <Stack gap="xs" mt={4}>
              {graces.map(({ seconds, label, means }) => (
                <Radio key={seconds} value={seconds} label={label} description={means} />
              ))}
            </Stack>
          </Radio.Group>
          <FailureNote error={rotate.error} title="Could not rotate the secret" />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={rotate.isPending}>
              Rotate secret
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
