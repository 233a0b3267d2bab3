/** Compares two versions: differing fields in a table, long texts line by line. */
import { Button, Group, Paper, Select, Stack, Switch, Table, Text, Title } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import type { AgentVersion } from '../../../api/types.ts'
import { compare } from '../../../show/agent-content.ts'
import type { Difference } from '../../../show/agent-content.ts'
import { TextDiff } from '../../../show/text-diff.tsx'

type Pair = { before: number; now: number }
type CompareProps = { versions: AgentVersion[]; pair: Pair; onChoose(pair: Pair): void; onClose(): void }

export function CompareVersions({ versions, pair, onChoose, onClose }: CompareProps) {
  const [whole, setWhole] = useState(false)
  const heading = useRef<HTMLHeadingElement>(null)
  // It opens above the table in which it was requested.
  useEffect(() => heading.current?.focus(), [])
  const [before, now] = [pair.before, pair.now].map((wanted) => versions.find(({ version }) => version === wanted))
  const options = versions.map(({ version }) => ({ value: String(version), label: `Version ${version}` }))
  return (
    <Paper withBorder p="md" component="section" aria-label="Version comparison">
      <Stack>
        <Group justify="space-between">
          <Title order={2} size="h4" ref={heading} tabIndex={-1}>
            Versions {pair.before} and {pair.now}
          </Title>
          <Button size="xs" variant="default" onClick={onClose}>
            Close comparison
          </Button>
        </Group>
        <Group align="flex-end">
          <Select
            label="From"
            data={options}
            value={String(pair.before)}
            onChange={(value) => onChoose({ ...pair, before: Number(value) })}
            allowDeselect={false}
            searchable
            maw={160}
          />
          <Select
            label="To"
            data={options}
            value={String(pair.now)}
            onChange={(value) => onChoose({ ...pair, now: Number(value) })}
            allowDeselect={false}
            searchable
            maw={160}
          />
          <Switch label="Show unchanged fields" checked={whole} onChange={(event) => setWhole(event.currentTarget.checked)} mb={8} />
        </Group>
        {before && now ? (
          <Differences all={compare(before, now)} pair={pair} whole={whole} />
        ) : (
          <Text size="sm">One of the versions is not loaded yet. Load more versions below.</Text>
        )}
      </Stack>
    </Paper>
  )
}

function Differences({ all, pair, whole }: { all: Difference[]; pair: Pair; whole: boolean }) {
  const shown = all.filter((one) => whole || one.before !== one.now)
  const fields = shown.filter(({ long }) => !long)
  const texts = shown.filter(({ long }) => long)
  return (
    <Stack aria-live="polite">
      {all.every((one) => one.before === one.now) ? (
        <Text size="sm">No visible differences. Header and secret values can still differ.</Text>
      ) : null}
      {fields.length > 0 ? (
        <Table.ScrollContainer minWidth={480}>
          <Table aria-label="Fields">
            <Table.Thead>
              <Table.Tr>
                <Table.Th scope="col">Field</Table.Th>
                <Table.Th scope="col">Version {pair.before}</Table.Th>
                <Table.Th scope="col">Version {pair.now}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {fields.map(({ label, before, now }) => (
                <Table.Tr key={label}>
                  <Table.Th scope="row" fw={before === now ? 400 : 600}>
                    {inCapital(label)}
                    {before === now ? '' : ' (changed)'}
                  </Table.Th>
                  <Table.Td className="as-written">{before === now ? before : <del>{before}</del>}</Table.Td>
                  <Table.Td className="as-written">{before === now ? now : <ins>{now}</ins>}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      ) : null}
      {texts.map(({ label, before, now }) => (
        <Stack key={label} gap={4}>
          <Title order={3} size="h5">
            {inCapital(label)}
            {before === undefined ? ' (added)' : now === undefined ? ' (removed)' : before === now ? ' (unchanged)' : ''}
          </Title>
          <TextDiff before={before ?? ''} now={now ?? ''} label={`Changes to ${label}`} />
        </Stack>
      ))}
    </Stack>
  )
}

const inCapital = (label: string): string => label.charAt(0).toUpperCase() + label.slice(1)
