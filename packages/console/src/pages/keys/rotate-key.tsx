/** Gives a key a new secret. Both secrets work during the grace period, so that callers can switch without a refused request. */
import { Button, Group, Modal, NumberInput, Radio, Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { FormEvent } from 'react'
import type { Key, ShownKey } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { refusalOf } from '../../show/refusal.ts'
import { calledOf, isWhole } from './key-form.ts'
import { useRotateKey } from './key-writes.ts'

// 30 days, the server's maximum.
const maxGraceSeconds = 2_592_000
const graces = [
  { seconds: '0', label: 'Immediately', means: 'The old secret is rejected from now on. Choose this if it may have leaked.' },
  { seconds: '3600', label: '1 hour', means: 'For a caller that you update now.' },
  { seconds: '86400', label: '24 hours', means: 'For a caller that gets the new secret with its next release.' },
  { seconds: '604800', label: '7 days', means: 'For callers that other teams run.' },
]

export function RotateKey({ apiKey, onShown, onClose }: { apiKey: Key; onShown: (shown: ShownKey) => void; onClose: () => void }) {
  const [choice, setChoice] = useState('3600')
  const [own, setOwn] = useState<number | string>('')
  const [wrong, setWrong] = useState<string | null>(null)
  const rotate = useRotateKey(apiKey, onShown)
  const refused = refusalOf(rotate.error, choice === 'own' ? ['grace_seconds'] : [])
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    const seconds = choice === 'own' ? own : choice
    if (!isWhole(seconds, 0, maxGraceSeconds)) return setWrong('Enter a whole number from 0 to 2,592,000 (30 days).')
    setWrong(null)
    // `onShown` closes this dialog. Nothing here may close the dialog that it opens.
    rotate.mutate(Number(seconds))
  }
  return (
    <Modal opened onClose={onClose} title={`Rotate ${calledOf(apiKey)}`} size="lg">
      <form noValidate onSubmit={submit}>
        <Stack>
          <Text>
            Rotating creates a new secret, which is shown once. The name, permission, limit, and conversations of the key are kept. Both
            secrets work during the grace period; afterwards, callers that use the old secret get 401.
          </Text>
          <Radio.Group label="Grace period for the old secret" value={choice} onChange={setChoice}>
            <Stack gap="xs" mt={4}>
              {graces.map(({ seconds, label, means }) => (
                <Radio key={seconds} value={seconds} label={label} description={means} />
              ))}
              <Radio value="own" label="Custom" />
            </Stack>
          </Radio.Group>
          {choice === 'own' ? (
            <NumberInput
              label="Grace period (seconds)"
              value={own}
              onChange={setOwn}
              error={wrong ?? refused.at('grace_seconds')}
              allowDecimal={false}
              allowNegative={false}
              min={0}
              max={maxGraceSeconds}
              clampBehavior="none"
              thousandSeparator=","
              required
              maw={240}
            />
          ) : null}
          <Text size="sm" c="dimmed">
            Secrets of earlier rotations work until their own grace periods end. “Immediately” ends all of them. A key has at most five
            secrets.
          </Text>
          <FailureNote error={refused.rest} />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={rotate.isPending}>
              Rotate API key
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
