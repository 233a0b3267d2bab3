/** Creates an owner with or without an opening balance, and opens its page. */
import { Button, Group, Modal, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { call, segment } from '../../api/client.ts'
import type { Owner } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { amountHint, readAmount, writeAmount } from '../../api/amounts.ts'
import { refusalOf } from '../../show/refusal.ts'

export function NewOwner({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  return (
    <Modal opened={opened} onClose={onClose} title="Create owner" centered closeButtonProps={{ 'aria-label': 'Close' }}>
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
      name: (name) => (name.trim() === '' ? 'Enter a name.' : null),
      balance: (text) => {
        const amount = text.trim() === '' ? 0n : readAmount(text)
        if (amount === undefined) return amountHint
        return amount < 0n ? 'The opening balance cannot be negative.' : null
      },
    },
  })
  const create = useMutation({
    meta: { done: 'Owner created' },
    mutationFn: ({ name, balance }: { name: string; balance: string }) =>
      call<Owner>('/owners', { method: 'POST', body: { name: name.trim(), balance_usd: writeAmount(readAmount(balance) ?? 0n) } }),
    onSuccess: (owner) => {
      void queries.invalidateQueries({ queryKey: ['owners'] })
      navigate(`/money/${segment(owner.id)}`)
    },
  })
  const refused = refusalOf(create.error, ['name', 'balance_usd'])
  return (
    <form onSubmit={form.onSubmit((values) => create.mutate(values))} noValidate>
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
          label="Opening balance (USD)"
          description="Recorded as the first ledger entry; leave empty for 0."
          placeholder="10.00"
          inputMode="decimal"
          autoComplete="off"
          {...form.getInputProps('balance')}
          error={form.errors['balance'] ?? refused.at('balance_usd')}
        />
        <FailureNote error={refused.rest} title="Could not create the owner" />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={create.isPending}>
            Create owner
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
