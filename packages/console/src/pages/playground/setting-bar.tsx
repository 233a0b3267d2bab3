/** What the messages run with: a version of the agent, or a draft of one, and whether the replies are stored. */
import { Badge, Box, Button, Group, Select, Text } from '@mantine/core'
import { IconPencil } from '@tabler/icons-react'
import { Suspense, lazy, useState } from 'react'
import type { Agent, AgentVersion } from '../../api/types.ts'
import classes from './playground.module.css'
import { currentVersion, isDraft } from './settings.ts'
import type { Setting } from './settings.ts'

const DraftDialog = lazy(() => import('./draft-dialog.tsx').then(({ DraftDialog: dialog }) => ({ default: dialog })))

type SettingBarProps = {
  agent: Agent
  versions: AgentVersion[]
  setting: Setting
  /** Whether its replies are stored. */
  isStored: boolean
  onChange(setting: Setting): void
  /** Of two that are compared. */
  letter?: 'A' | 'B'
}

const present = 'current'

export function SettingBar({ agent, versions, setting, isStored, onChange, letter }: SettingBarProps) {
  const [editing, setEditing] = useState(false)
  const of = letter ? ` of ${letter}` : ''
  const numbers = new Set([...versions.map(({ version }) => version), ...(setting.version === null ? [] : [setting.version])])
  const options = [
    { value: present, label: `Current version (${agent.version})` },
    ...[...numbers].toSorted((one, other) => other - one).map((version) => ({ value: String(version), label: `Version ${version}` })),
  ]
  const base = versions.find(({ version }) => version === (setting.version ?? agent.version))
  return (
    <Group gap={8} className={classes['bar']} role="group" aria-label={letter ? `Configuration ${letter}` : 'Configuration'}>
      {letter ? (
        <Text span fw={600}>
          {letter}
        </Text>
      ) : null}
      <Select
        aria-label={`Version${of}`}
        data={options}
        value={setting.version === null ? present : String(setting.version)}
        onChange={(value) => onChange({ ...setting, version: value === present ? null : Number(value) })}
        allowDeselect={false}
        searchable
        className={classes['version']}
      />
      <Button
        variant={isDraft(setting) ? 'light' : 'default'}
        leftSection={<IconPencil size={15} aria-hidden="true" />}
        disabled={!base}
        aria-label={isDraft(setting) ? `Edit draft${of}` : `Draft changes${of}`}
        onClick={() => setEditing(true)}
      >
        {isDraft(setting) ? 'Draft' : 'Draft…'}
      </Button>
      <Box visibleFrom={letter ? 'base' : 'sm'}>
        <StoredBadge isStored={isStored} />
      </Box>
      {editing && base ? (
        <Suspense fallback={null}>
          <DraftDialog
            base={base}
            overrides={setting.overrides}
            onApply={(overrides) => onChange({ ...setting, overrides })}
            onDiscard={() => onChange({ ...currentVersion, version: setting.version })}
            onClose={() => setEditing(false)}
          />
        </Suspense>
      ) : null}
    </Group>
  )
}

export const StoredBadge = ({ isStored }: { isStored: boolean }) =>
  isStored ? (
    <Badge variant="light" color="teal">
      Stored and charged
    </Badge>
  ) : (
    <Badge variant="light" color="gray">
      Not stored
    </Badge>
  )
