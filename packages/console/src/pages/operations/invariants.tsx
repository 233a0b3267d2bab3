/** The result of a verification: a summary, and each invariant with the rows that violate it. */
import { Alert, Box, Stack, Table, Text } from '@mantine/core'
import type { Verification } from '../../api/types.ts'
import { CodeBlock } from '../../show/code-block.tsx'
import { writeMs } from '../../show/measures.ts'
import { Moment } from '../../show/moment.tsx'
import { Verdict } from './verdict.tsx'

export function Invariants({ verification: { ok, ms, invariants, verified_at: verifiedAt } }: { verification: Verification }) {
  const broken = invariants.filter((invariant) => !invariant.ok)
  return (
    <Stack gap="sm">
      <Alert
        color={ok ? 'teal' : 'red'}
        variant="outline"
        role={ok ? 'status' : 'alert'}
        title={ok ? `✓ All ${invariants.length} invariants hold` : `✕ ${broken.length} of ${invariants.length} invariants are violated`}
      >
        <Text size="sm">
          Verified on <Moment at={verifiedAt} /> in {writeMs(ms)}.
          {ok
            ? ''
            : ' Back up the database as it is and report the rows below to the Turnkeep maintainers. Do not change the data by hand.'}
        </Text>
      </Alert>
      {broken.map(({ id, name, rows }) => (
        <Box key={id}>
          <CodeBlock label={`rows that violate ${id} ${name}`} text={rows.map((row) => JSON.stringify(row)).join('\n')} />
          <Text size="xs" mt={4}>
            {rows.length} {rows.length === 1 ? 'row violates' : 'rows violate'} {id}. Long lists are cut off.
          </Text>
        </Box>
      ))}
      <Table.ScrollContainer
        minWidth={640}
        scrollAreaProps={{ viewportProps: { tabIndex: 0, role: 'region', 'aria-label': 'Invariants' } }}
      >
        <Table aria-label="Invariants">
          <Table.Thead>
            <Table.Tr>
              <Table.Th scope="col">Status</Table.Th>
              <Table.Th scope="col">Invariant</Table.Th>
              <Table.Th scope="col">Description</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {/* What is broken stands first, or it would be one line of many. */}
            {invariants
              .toSorted((a, b) => Number(a.ok) - Number(b.ok))
              .map(({ id, name, sentence, ok: holds }) => (
                <Table.Tr key={id}>
                  <Table.Td>
                    <Verdict good={holds} word={holds ? 'Holds' : 'Violated'} />
                  </Table.Td>
                  <Table.Td>
                    {id}{' '}
                    <Text span size="xs" ff="monospace">
                      {name}
                    </Text>
                  </Table.Td>
                  <Table.Td>{sentence}</Table.Td>
                </Table.Tr>
              ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Stack>
  )
}
