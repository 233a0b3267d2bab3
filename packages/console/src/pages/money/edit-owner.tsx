/** Changes the name of an owner, and the balance below which it is low. The balance itself changes only through the ledger. */
import { Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { amountHint, readAmount, writeAmount } from '../../api/amounts.ts'
import { call, segment } from '../../api/client.ts'
import type { Owner } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { refusalOf } from '../../show/refusal.ts'
import { shortAmount } from '../../show/short-amount.ts'

type EditOwnerProps = { owner: Owner; opened: boolean; onClose: () => void }

export function EditOwner({ owner, opened, onClose }: EditOwnerProps) {
  return (
    <Modal opened={opened} onClose={onClose} title="Edit owner" centered closeButtonProps={{ 'aria-label': 'Close' }}>
      <EditForm owner={owner} onClose={onClose} />
    </Modal>
  )
}

/** The low balance is empty if the owner has none. */
type Values = { name: string; lowBalance: string }

function EditForm({ owner, onClose }: { owner: Owner; onClose: () => void }) {
  const queries = useQueryClient()
  const form = useForm<Values>({
    initialValues: { name: owner.name, lowBalance: owner.low_balance_usd === null ? '' : shortAmount(owner.low_balance_usd) },
    validate: {
      name: (name) => (name.trim() === '' ? 'Enter a name.' : null),
      lowBalance: (text) => {
        if (text.trim() === '') return null
        const amount = readAmount(text)
        if (amount === undefined) return amountHint
        return amount < 0n ? 'The low balance cannot be negative.' : null
      },
    },
  })
  const save = useMutation({
    meta: { done: 'Owner saved' },
    mutationFn: (values: Values) => call<Owner>(`/owners/${segment(owner.id)}`, { method: 'PATCH', body: changesOf(owner, values) }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['owners'] })
      onClose()
    },
  })
  const refused = refusalOf(save.error, ['name', 'low_balance_usd'])
  return (
    <form onSubmit={form.onSubmit((values) => save.mutate(values))} noValidate>
      <Stack>
        <TextInput
          label="Name"
          withAsterisk
          data-autofocus
          maxLength={200}
          {...form.getInputProps('name')}
          error={form.errors['name'] ?? refused.at('name')}
        />
        <TextInput
          label="Low balance (USD)"
          description="Webhooks get the event balance.low when the balance falls below this, and the overview shows it. Empty: never."
          placeholder="5.00"
          inputMode="decimal"
          autoComplete="off"
          {...form.getInputProps('lowBalance')}
          error={form.errors['lowBalance'] ?? refused.at('low_balance_usd')}
        />
        <FailureNote error={refused.rest} title="Could not save the owner" />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={save.isPending}>
            Save
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

/** Only what differs, so that the audit log names what was changed. */
function changesOf(owner: Owner, { name, lowBalance }: Values): object {
  const low = lowBalance.trim() === '' ? null : writeAmount(readAmount(lowBalance) ?? 0n)
  return {
    ...(name.trim() === owner.name ? {} : { name: name.trim() }),
    ...(low === owner.low_balance_usd ? {} : { low_balance_usd: low }),
  }
}
