/** Makes an owner, with an opening balance or none, and goes to its page. */
import { Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { call, segment } from '../../api/client.ts'
import type { Owner } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { amountHint, readAmount, writeAmount } from '../../api/amounts.ts'
import { errorOfField } from '../../show/field-error.ts'

export function NewOwner({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  return (
    <Modal opened={opened} onClose={onClose} title="Create an owner" centered closeButtonProps={{ 'aria-label': 'Close' }}>
      <NewOwnerForm onClose={onClose} />
    </Modal>
  )
}

function NewOwnerForm({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const form = useForm({
    initialValues: { name: '', balance: '' },
    validate: {
      name: (name) => (name.trim() === '' ? 'A name is needed, as people and bills know the owner.' : null),
      balance: (text) => {
        const amount = text.trim() === '' ? 0n : readAmount(text)
        if (amount === undefined) return amountHint
        return amount < 0n ? 'An opening balance is not negative.' : null
      },
    },
  })
  const create = useMutation({
    mutationFn: ({ name, balance }: { name: string; balance: string }) =>
      call<Owner>('/owners', { method: 'POST', body: { name: name.trim(), balance_usd: writeAmount(readAmount(balance) ?? 0n) } }),
    onSuccess: (owner) => {
      void queries.invalidateQueries({ queryKey: ['owners'] })
      navigate(`/money/${segment(owner.id)}`)
    },
  })
  const errors = { name: errorOfField(create.error, 'name'), balance: errorOfField(create.error, 'balance_usd') }
  return (
    <form onSubmit={form.onSubmit((values) => create.mutate(values))} noValidate>
      <Stack>
        <TextInput
          label="Name"
          withAsterisk
          data-autofocus
          maxLength={200}
          {...form.getInputProps('name')}
          error={form.errors['name'] ?? errors.name}
        />
        <TextInput
          label="Opening balance in USD"
          description="The first entry of its ledger; nothing written is 0."
          placeholder="10.00"
          inputMode="decimal"
          autoComplete="off"
          {...form.getInputProps('balance')}
          error={form.errors['balance'] ?? errors.balance}
        />
        <FailureNote error={errors.name || errors.balance ? null : create.error} title="The owner was not created" />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={create.isPending}>
            Create the owner
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
