/** The dialog for creating or changing a key. A refusal is shown at the field that it names. */
import { Button, Group, Modal, Stack } from '@mantine/core'
import { useForm } from '@mantine/form'
import { FailureNote } from '../../show/failure-note.tsx'
import { KeyFields } from './key-fields.tsx'
import { showRefusal } from '../../show/refusal.ts'
import { fieldsOfKey, refusalOfKey, validateKey } from './key-form.ts'
import type { KeyForm } from './key-form.ts'

type KeyDialogProps = {
  title: string
  /** The verb on the button, such as "Create the key". */
  verb: string
  initial: KeyForm
  pending: boolean
  error: unknown
  onSubmit: (form: KeyForm, refused: (error: unknown) => void) => void
  onClose: () => void
}

/** Mounted while it is open, so that it starts with `initial` each time. */
export function KeyDialog({ title, verb, initial, pending, error, onSubmit, onClose }: KeyDialogProps) {
  const form = useForm<KeyForm>({ mode: 'uncontrolled', initialValues: initial, validate: validateKey })
  const refused = (failure: unknown): void => showRefusal(form, refusalOfKey(failure), (name) => fieldsOfKey[name])
  return (
    <Modal opened onClose={onClose} title={title} size="lg">
      <form noValidate onSubmit={form.onSubmit((values) => onSubmit(values, refused))}>
        <Stack>
          <KeyFields form={form} />
          <FailureNote error={refusalOfKey(error).rest} />
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
