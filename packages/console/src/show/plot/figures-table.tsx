/** The figures of a plot, one row per hour or day, for screen readers and for copying. Rendered when it is opened. */
import { Button, Group, Stack, Table } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useId } from 'react'
import { CopyButton } from '../copy-button.tsx'
import type { PlotOf } from './plot-types.ts'

export function FiguresTable({ plot }: { plot: PlotOf }) {
  const [opened, { toggle }] = useDisclosure()
  const tableId = useId()
  const { title, series, buckets } = plot
  const subject = title.charAt(0).toLowerCase() + title.slice(1)
  const unit = buckets.unit === 'day' ? 'Day' : 'Hour'
  return (
    <Stack gap="xs">
      <Group gap="xs">
        <Button size="compact-xs" variant="default" onClick={toggle} aria-expanded={opened} aria-controls={tableId}>
          {opened ? 'Hide table of' : 'Show table of'} {subject}
        </Button>
        {opened ? <CopyButton size="compact-xs" text={asLines(plot, unit)} label="Copy table" /> : null}
      </Group>
      <div id={tableId}>
        {opened ? (
          <Table.ScrollContainer
            minWidth={320}
            maxHeight={320}
            scrollAreaProps={{ viewportProps: { tabIndex: 0, role: 'region', 'aria-label': `Table of ${subject}` } }}
          >
            <Table aria-label={`Table of ${subject}`} stickyHeader>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th scope="col">{unit}</Table.Th>
                  {series.map(({ label }) => (
                    <Table.Th key={label} scope="col" ta="right">
                      {label}
                    </Table.Th>
                  ))}
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {buckets.names.map((name, index) => (
                  <Table.Tr key={buckets.middles[index]}>
                    <Table.Th scope="row" fw={400} className="figures">
                      {name}
                    </Table.Th>
                    {series.map(({ label, texts }) => (
                      <Table.Td key={label} ta="right" className="figures">
                        {texts[index]}
                      </Table.Td>
                    ))}
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        ) : null}
      </div>
    </Stack>
  )
}

/** Separated by tabs, which spreadsheets accept. */
const asLines = ({ series, buckets }: PlotOf, unit: string): string =>
  [
    [unit, ...series.map(({ label }) => label)],
    ...buckets.names.map((name, index) => [name, ...series.map(({ texts }) => texts[index] ?? '')]),
  ]
    .map((cells) => cells.join('\t'))
    .join('\n')
