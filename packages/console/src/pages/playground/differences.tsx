/** What two configurations differ in: fields with both values, and long texts line by line. */
import { Modal, Stack, Table, Text, Title } from '@mantine/core'
import type { AgentVersion } from '../../api/types.ts'
import { compare } from '../../show/agent-content.ts'
import { TextDiff } from '../../show/text-diff.tsx'

type DifferencesProps = { a: AgentVersion; b: AgentVersion; names: readonly [string, string]; onClose(): void }

export function Differences({ a, b, names, onClose }: DifferencesProps) {
  const all = compare(a, b).filter(({ before, now }) => before !== now)
  const fields = all.filter(({ long }) => !long)
  return (
    <Modal opened onClose={onClose} title="Differences of A and B" size="xl" closeButtonProps={{ 'aria-label': 'Close' }}>
      <Stack>
        {all.length === 0 ? <Text size="sm">A and B have the same settings.</Text> : null}
        {fields.length > 0 ? (
          <Table.ScrollContainer minWidth={480}>
            <Table aria-label="Fields">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th scope="col">Field</Table.Th>
                  <Table.Th scope="col">A: {names[0]}</Table.Th>
                  <Table.Th scope="col">B: {names[1]}</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {fields.map(({ label, before, now }) => (
                  <Table.Tr key={label}>
                    <Table.Th scope="row">{label}</Table.Th>
                    <Table.Td className="as-written">{before ?? '–'}</Table.Td>
                    <Table.Td className="as-written">{now ?? '–'}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        ) : null}
        {all
          .filter(({ long }) => long)
          .map(({ label, before, now }) => (
            <Stack key={label} gap={4}>
              <Title order={3} size="h5">
                {label}
              </Title>
              <TextDiff before={before ?? ''} now={now ?? ''} label={`Changes to ${label}`} />
            </Stack>
          ))}
      </Stack>
    </Modal>
  )
}
