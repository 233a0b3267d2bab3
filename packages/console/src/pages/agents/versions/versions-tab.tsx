/** Every version of an agent, newest first: what each changed, a comparison of any two, and rollback. */
import { Badge, Button, Group, Stack, Table, Text } from '@mantine/core'
import { useState } from 'react'
import { segment } from '../../../api/client.ts'
import { useList } from '../../../api/lists.ts'
import { useMay } from '../../../api/session.ts'
import type { Agent, AgentVersion } from '../../../api/types.ts'
import { Moment } from '../../../show/moment.tsx'
import { MoreButton } from '../../../show/more-button.tsx'
import { Waiting } from '../../../show/waiting.tsx'
import { changedLabels } from '../../../show/agent-content.ts'
import { useSavers } from './use-savers.ts'
import { CompareVersions } from './compare-versions.tsx'
import { Prices } from './prices.tsx'
import { RollBack } from './roll-back.tsx'
import { ListTable } from '../../../show/list-table.tsx'
import { Allowed } from '../../../show/allowed.tsx'

export function VersionsTab({ agent }: { agent: Agent }) {
  const list = useList<AgentVersion>(['agents', agent.id, 'versions'], `/agents/${segment(agent.id)}/versions`)
  const [pair, setPair] = useState<{ before: number; now: number } | null>(null)
  const [wanted, setWanted] = useState<number | null>(null)
  const [said, setSaid] = useState('')
  return (
    <Stack>
      <Text size="sm" c="dimmed" maw={720}>
        Every change except enabling or disabling the agent creates a version. Each turn runs on the version it started with.
      </Text>
      <Text size="sm" aria-live="polite">
        {said}
      </Text>
      <Waiting for={list.query} what="versions">
        {() => (
          <>
            {pair ? <CompareVersions versions={list.items} pair={pair} onChoose={setPair} onClose={() => setPair(null)} /> : null}
            <Versions
              agent={agent}
              versions={list.items}
              onCompare={(now) => setPair({ before: now - 1, now })}
              onRollBack={(version) => {
                setSaid('')
                setWanted(version)
              }}
            />
            <MoreButton list={list} />
            <Prices agent={agent} />
          </>
        )}
      </Waiting>
      <RollBack
        agent={agent}
        version={wanted}
        onClose={() => setWanted(null)}
        onDone={(sentence) => {
          setWanted(null)
          setSaid(sentence)
        }}
      />
    </Stack>
  )
}

type VersionsProps = { agent: Agent; versions: AgentVersion[]; onCompare(version: number): void; onRollBack(version: number): void }

function Versions({ agent, versions, onCompare, onRollBack }: VersionsProps) {
  const savers = useSavers(agent.id)
  const showsSavers = useMay('audit', true)
  return (
    <ListTable minWidth={720} aria-label="Versions" verticalSpacing="sm">
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">Version</Table.Th>
          <Table.Th scope="col">Saved</Table.Th>
          {showsSavers ? <Table.Th scope="col">Saved by</Table.Th> : null}
          <Table.Th scope="col">Changes</Table.Th>
          <Table.Th scope="col">Actions</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {versions.map((version, index) => (
          <Table.Tr key={version.version}>
            <Table.Th scope="row">
              <Group gap="xs" wrap="nowrap">
                {version.version}
                {version.version === agent.version ? (
                  <Badge color="teal" flex="none">
                    Current
                  </Badge>
                ) : null}
              </Group>
            </Table.Th>
            <Table.Td>
              <Moment at={version.created_at} />
            </Table.Td>
            {showsSavers ? <Table.Td className="as-written">{savers.get(version.version) ?? '–'}</Table.Td> : null}
            <Table.Td maw={360}>{sayChanges(version, versions[index + 1])}</Table.Td>
            <Table.Td>
              <Group gap="xs" wrap="nowrap">
                {version.version > 1 ? (
                  <Button size="xs" variant="default" onClick={() => onCompare(version.version)}>
                    Compare with version {version.version - 1}
                  </Button>
                ) : null}
                {version.version === agent.version ? null : (
                  <Allowed permission="agents" installation>
                    <Button size="xs" variant="default" onClick={() => onRollBack(version.version)}>
                      Roll back to version {version.version}
                    </Button>
                  </Allowed>
                )}
              </Group>
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </ListTable>
  )
}

function sayChanges({ version, ...now }: AgentVersion, before: AgentVersion | undefined): string {
  if (version === 1) return 'First version'
  // The version before it is on the next page.
  if (!before) return '…'
  const labels = changedLabels(before, now)
  return labels.length === 0 ? 'header or secret values' : labels.join(', ')
}
