/**
 * Adds a credit or an adjustment to a ledger, once: the entry is shown with the balance before and after it, and is sent with a key that it
 * keeps for every retry, so a lost response never causes a second entry.
 */
import { Box, Button, Group, Stack, Text, TextInput, Title } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { call, segment } from '../../api/client.ts'
import { randomId } from '../../api/random-id.ts'
import type { LedgerEntry, Owner } from '../../api/types.ts'
import { shortMoney } from '../../show/money.tsx'
import { amountHint, readAmount, writeAmount } from '../../api/amounts.ts'
import { ConfirmEntry } from './confirm-entry.tsx'
import type { Entry } from './confirm-entry.tsx'
import { refusalOf } from '../../show/refusal.ts'

export function NewEntry({ owner }: { owner: Owner }) {
  const queries = useQueryClient()
  const amountInput = useRef<HTMLInputElement>(null)
  const [entry, setEntry] = useState<Entry | null>(null)
  // It may be in the ledger, so the same amount and note again are the same entry.
  const [failed, setFailed] = useState<Entry | null>(null)
  const [asked, setAsked] = useState(false)
  const form = useForm({ initialValues: { amount: '', note: '' }, validate: { amount: wrongAmount } })
  const add = useMutation({
    meta: { done: 'Entry added to the ledger' },
    mutationFn: ({ key, amount, note }: Entry) =>
      call<LedgerEntry>(`/owners/${segment(owner.id)}/ledger`, {
        method: 'POST',
        headers: { 'Idempotency-Key': key },
        body: { amount_usd: writeAmount(amount), ...(note === '' ? {} : { note }) },
      }),
    onSuccess: async () => {
      setFailed(null)
      setAsked(false)
      form.reset()
      await readAgain()
    },
    onError: async (error, sent) => {
      const { field, at } = refusalOf(error, entryFields)
      if (field === undefined) setFailed(sent)
      else {
        form.setErrors({ [field === 'note' ? 'note' : 'amount']: at(field) })
        setAsked(false)
      }
      // It may be in the ledger although there was no response.
      await readAgain()
    },
  })
  const readAgain = (): Promise<unknown> =>
    Promise.all([queries.invalidateQueries({ queryKey: ['owners'] }), queries.invalidateQueries({ queryKey: ['ledger', owner.id] })])
  const ask = (values: { amount: string; note: string }): void => {
    const [amount, note] = [readAmount(values.amount) ?? 0n, values.note.trim()]
    const isSame = failed?.amount === amount && failed.note === note
    setEntry(isSame ? failed : { key: `console-${randomId()}`, amount, note, balance: owner.balance_usd, available: owner.available_usd })
    add.reset()
    setAsked(true)
  }
  return (
    <Box className="panel" p="md" component="section" aria-labelledby="new-entry">
      <form onSubmit={form.onSubmit(ask)} noValidate>
        <Stack gap="sm">
          <Title order={2} size="h4" id="new-entry">
            Add ledger entry
          </Title>
          <Group align="flex-start">
            <TextInput
              ref={amountInput}
              label="Amount (USD)"
              description="A positive amount is a credit, a negative amount is an adjustment."
              placeholder="10.00 or -2.50"
              autoComplete="off"
              withAsterisk
              w={{ base: '100%', xs: 320 }}
              {...form.getInputProps('amount')}
            />
            <TextInput
              label="Note"
              description="For your records; callers cannot see it."
              placeholder="Invoice 1042"
              autoComplete="off"
              maxLength={1000}
              style={{ flex: '1 1 240px' }}
              {...form.getInputProps('note')}
            />
          </Group>
          <Group>
            <Button type="submit">Review entry</Button>
            <Text component="output" size="sm">
              {add.data ? `Added ${sayEntry(add.data)}. The balance is now ${shortMoney(owner.balance_usd)}.` : ''}
            </Text>
          </Group>
        </Stack>
      </form>
      <ConfirmEntry
        opened={asked}
        entry={entry}
        ownerName={owner.name}
        pending={add.isPending}
        error={refusalOf(add.error, entryFields).rest}
        onConfirm={() => entry && add.mutate(entry)}
        onClose={() => setAsked(false)}
        onClosed={() => (form.errors['amount'] ? amountInput.current?.focus() : undefined)}
      />
    </Box>
  )
}

function wrongAmount(text: string): string | null {
  const amount = readAmount(text)
  if (amount === undefined) return amountHint
  return amount === 0n ? 'Enter an amount other than 0.' : null
}

const entryFields = ['amount_usd', 'note'] as const

const sayEntry = ({ kind, amount_usd: amount }: LedgerEntry): string =>
  `${kind === 'credit' ? 'a credit' : 'an adjustment'} of ${shortMoney(amount)}`
