/** The list of keyboard shortcuts, which `?` opens. */
import { Kbd, Modal, Table } from '@mantine/core'
import { groups } from './navigation.ts'
import { paletteKeys } from './shortcuts.ts'

const shortcuts = [
  { keys: paletteKeys, what: 'Search pages, agents, owners, keys and IDs' },
  { keys: '?', what: 'Show this list' },
  { keys: 'Esc', what: 'Close a dialog or a menu' },
  ...groups.flatMap(({ items }) =>
    items.flatMap(({ keys, label }) => (keys === undefined ? [] : [{ keys: `g ${keys}`, what: `Go to ${label}` }])),
  ),
]

export function ShortcutList({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  return (
    <Modal opened={opened} onClose={onClose} title="Keyboard shortcuts">
      <Table aria-label="Keyboard shortcuts" withRowBorders={false} verticalSpacing={4}>
        <Table.Tbody>
          {shortcuts.map(({ keys, what }) => (
            <Table.Tr key={keys}>
              <Table.Td>{what}</Table.Td>
              <Table.Td ta="right">
                {keys.split(' ').map((key) => (
                  <Kbd key={key} ml={4}>
                    {key}
                  </Kbd>
                ))}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Modal>
  )
}
