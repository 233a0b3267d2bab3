/** Gives a key a new secret. For the grace period both work, so that callers can change over without a refused request. */
import { Alert, Button, Group, Modal, NumberInput, Radio, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { FormEvent } from 'react'
import type { Key, ShownKey } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { calledOf, isWhole } from './key-form.ts'
import { useRotateKey } from './key-writes.ts'

// 30 days, the longest that the server takes.
const longestGraceSeconds = 2_592_000
const graces = [
  { seconds: '0', label: 'At once', means: 'The former secret is refused from now on. For one that may be in wrong hands.' },
  { seconds: '3600', label: '1 hour', means: 'For a caller that you change over right now.' },
  { seconds: '86400', label: '24 hours', means: 'For a caller that takes the new secret with its next release.' },
  { seconds: '604800', label: '7 days', means: 'For callers of other people.' },
]

export function RotateKey({ apiKey, onShown, onClose }: { apiKey: Key; onShown: (shown: ShownKey) => void; onClose: () => void }) {
  const [choice, setChoice] = useState('3600')
  const [own, setOwn] = useState<number | string>('')
  const [wrong, setWrong] = useState<string | null>(null)
  const rotate = useRotateKey(apiKey, onShown)
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    const seconds = choice === 'own' ? own : choice
    if (!isWhole(seconds, 0, longestGraceSeconds)) return setWrong('A whole number from 0 to 2,592,000, which is 30 days')
    setWrong(null)
    // `onShown` closes this dialog; nothing here may close what it opens.
    rotate.mutate(Number(seconds))
  }
  return (
    <Modal opened onClose={onClose} title={`Rotate ${calledOf(apiKey)}`} size="lg">
      <form noValidate onSubmit={submit}>
        <Stack>
          <Text>
            The key gets a new secret, which is shown once. Its name, permission, limit and conversations stay. For the grace period the
            former secret works as well; after it, callers that still use it get 401.
          </Text>
          <Radio.Group label="How long the former secret works" value={choice} onChange={setChoice}>
            <Stack gap="xs" mt={4}>
              {graces.map(({ seconds, label, means }) => (
                <Radio key={seconds} value={seconds} label={label} description={means} />
              ))}
              <Radio value="own" label="Own number of seconds" />
            </Stack>
          </Radio.Group>
          {choice === 'own' ? (
            <NumberInput
              label="Grace in seconds"
              value={own}
              onChange={setOwn}
              error={wrong}
              allowDecimal={false}
              allowNegative={false}
              min={0}
              max={longestGraceSeconds}
              clampBehavior="none"
              thousandSeparator=","
              required
              maw={240}
            />
          ) : null}
          <Alert color="yellow" variant="light" title="Two secrets at most">
            Rotated again within a grace period, the key keeps the newest two: the one before them is refused at once.
          </Alert>
          <FailureNote error={rotate.error} />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={rotate.isPending}>
              Rotate the key
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
