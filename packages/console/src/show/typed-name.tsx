/** Asks before something is deleted for good: explains what that means, and requires its name. */
import { Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { FormEvent, ReactNode } from 'react'
import { FailureNote } from './failure-note.tsx'

/** `what`: a noun, such as "agent". */
type TypedNameProps = {
  opened: boolean
  what: string
  name: string
  verb: 'Delete' | 'Remove'
  pending: boolean
  error: unknown
  onConfirm(): void
  onClose(): void
  /** What is deleted, and what stays. */
  children: ReactNode
}

export function TypedName(props: TypedNameProps) {
  const { opened, what, verb, onClose } = props
  return (
    <Modal opened={opened} onClose={onClose} title={`${verb} ${what}?`}>
      <Asked {...props} />
    </Modal>
  )
}

/** With an empty field each time the dialog is opened. */
function Asked({ what, name, verb, pending, error, onConfirm, onClose, children }: TypedNameProps) {
  const [typed, setTyped] = useState('')
  const isNamed = typed.trim() === name.trim()
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (isNamed) onConfirm()
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        {children}
        <TextInput
          label={`Type the ${what}’s name to confirm: ${name}`}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
          autoComplete="off"
          data-autofocus
        />
        <FailureNote error={error} title={`Could not ${verb.toLowerCase()} the ${what}`} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" color="red" disabled={!isNamed} loading={pending}>
            {verb} {what}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
