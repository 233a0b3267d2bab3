/** Shows an entry with the balance before and after it, before it is created. A failure is shown here, and a retry sends the same entry. */
import { Button, Group, Modal, Stack, Table, Text } from '@mantine/core'
import { FailureNote } from '../../show/failure-note.tsx'
import { Money } from '../../show/money.tsx'
import { readAmount, writeAmount } from '../../api/amounts.ts'

/** One logical entry with its own key. `balance` and `available` are the owner's before it was first sent. */
export type Entry = { key: string; amount: bigint; note: string; balance: string; available: string }

type ConfirmEntryProps = {
  opened: boolean
  entry: Entry | null
  ownerName: string
  pending: boolean
  error: unknown
  onConfirm: () => void
  onClose: () => void
  /** Called when the dialog has closed and the focus may move. */
  onClosed: () => void
}

export function ConfirmEntry({ opened, entry, ownerName, pending, error, onConfirm, onClose, onClosed }: ConfirmEntryProps) {
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title="Add ledger entry?"
      centered
      closeButtonProps={{ 'aria-label': 'Close' }}
      onExitTransitionEnd={onClosed}
    >
      {entry ? (
        <Stack>
          <Table variant="vertical" withTableBorder aria-label="Entry and balance">
            <Table.Tbody>
              <Row label={entry.amount > 0n ? 'Credit' : 'Adjustment'} amount={writeAmount(entry.amount)} />
              <Row label="Balance before" amount={entry.balance} />
              <Row label="Balance after" amount={sum(entry.balance, entry.amount)} />
              <Row label="Available after" amount={sum(entry.available, entry.amount)} />
            </Table.Tbody>
          </Table>
          <Text size="sm" className="as-written">
            For {ownerName}
            {entry.note === '' ? '.' : `, with the note “${entry.note}”.`} Ledger entries cannot be changed; correct a mistake with another
            entry.
          </Text>
          <FailureNote error={error} title="The entry may not have been added" />
          {error ? <Text size="sm">A retry sends the same entry with the same Idempotency-Key, so it is added at most once.</Text> : null}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button data-autofocus loading={pending} onClick={onConfirm}>
              {error ? 'Retry' : 'Add entry'}
            </Button>
          </Group>
        </Stack>
      ) : null}
    </Modal>
  )
}

function Row({ label, amount }: { label: string; amount: string }) {
  return (
    <Table.Tr>
      <Table.Th scope="row" w={160}>
        {label}
      </Table.Th>
      <Table.Td ta="right">
        <Money amount={amount} />
      </Table.Td>
    </Table.Tr>
  )
}

const sum = (balance: string, amount: bigint): string => writeAmount((readAmount(balance) ?? 0n) + amount)
