/** Asks before an action that cannot be undone, and explains it. A failure of the action is shown in the same place. */
import { Button, Group, Modal, Stack } from '@mantine/core'
import type { ReactNode } from 'react'
import { FailureNote } from './failure-note.tsx'

type ConfirmProps = {
  opened: boolean
  title: string
  /** What the action means. */
  children: ReactNode
  /** The verb on the button, such as "Revoke the key". */
  verb: string
  pending: boolean
  error: unknown
  onConfirm: () => void
  onClose: () => void
}

export function Confirm({ opened, title, children, verb, pending, error, onConfirm, onClose }: ConfirmProps) {
  return (
    <Modal opened={opened} onClose={onClose} title={title} centered closeButtonProps={{ 'aria-label': 'Close' }}>
      <Stack>
        <div>{children}</div>
        <FailureNote error={error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button color="red" loading={pending} onClick={onConfirm}>
            {verb}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
