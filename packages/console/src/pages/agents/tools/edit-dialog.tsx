/** The dialog for editing a tool. With unsaved input, a click outside or Escape does not close it. */
import { Button, Group, Modal, Stack } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import type { FormEventHandler, ReactNode } from 'react'
import { keepsInput } from '../../../show/keeps-input.ts'
import { useFocusBack } from './use-focus-back.ts'

type EditDialogProps = {
  title: string
  verb: string
  hasUnsavedInput: boolean
  pending: boolean
  onSubmit: FormEventHandler<HTMLFormElement>
  onClose(): void
  children: ReactNode
}

export function EditDialog({ title, verb, hasUnsavedInput, pending, onSubmit, onClose, children }: EditDialogProps) {
  useFocusBack()
  const isPhone = useMediaQuery('(max-width: 48em)')
  return (
    <Modal
      opened
      onClose={onClose}
      title={title}
      size="xl"
      fullScreen={isPhone}
      {...keepsInput(hasUnsavedInput)}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form noValidate onSubmit={onSubmit}>
        <Stack>
          {children}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={pending}>
              {verb}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
