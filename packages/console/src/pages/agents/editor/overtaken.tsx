/** Another operator has saved meanwhile: shows their changes, your changes, and the two options. */
import { Button, Group, List, Modal, Stack, Text } from '@mantine/core'
import type { Agent } from '../../../api/types.ts'
import { changedLabels } from '../../../show/agent-content.ts'

type OvertakenProps = {
  /** Null: no other operator has saved. */
  by: Agent | null
  base: Agent
  changes: Record<string, unknown>
  pending: boolean
  onTake(theirs: Agent): void
  onWriteOver(version: number): void
  onClose(): void
}

export function Overtaken({ by, base, changes, pending, onTake, onWriteOver, onClose }: OvertakenProps) {
  const closed = by === null
  return (
    <Modal
      opened={!closed}
      onClose={onClose}
      title={closed ? '' : `Version ${by.version} was saved while you were editing`}
      centered
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {closed ? null : (
        <Stack>
          <Text size="sm">You started from version {base.version}. Since then, these fields were changed:</Text>
          <List size="sm">
            {changedLabels({ ...base, tools: [] }, { ...by, tools: [] }).map((label) => (
              <List.Item key={label}>{label}</List.Item>
            ))}
          </List>
          <Text size="sm">
            You changed: <strong>{Object.keys(changes).map(nameOf).join(', ')}</strong>. Saving applies your changes to version {by.version}{' '}
            and keeps its other settings.
          </Text>
          <Group justify="flex-end">
            <Button variant="default" onClick={() => onTake(by)}>
              Discard mine and load version {by.version}
            </Button>
            <Button loading={pending} onClick={() => onWriteOver(by.version)}>
              Save my changes
            </Button>
          </Group>
        </Stack>
      )}
    </Modal>
  )
}

const nameOf = (field: string): string => field.replaceAll('_', ' ')
