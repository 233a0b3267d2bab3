/** Headers or secrets by name. A stored value is never shown: it is kept if the field stays empty, and replaced otherwise. */
import { ActionIcon, Button, Fieldset, Group, Input, PasswordInput, Stack, Text, TextInput } from '@mantine/core'
import { IconX } from '@tabler/icons-react'
import type { TextRow } from './text-rows.ts'

type TextsProps = {
  /** The plural, as the heading. */
  label: string
  singular: string
  description: string
  rows: TextRow[]
  mustReenter: boolean
  error: string | undefined
  onChange(rows: TextRow[]): void
}

export function TextsInput({ label, singular, description, rows, mustReenter, error, onChange }: TextsProps) {
  const change = (key: number, part: Partial<TextRow>): void => onChange(rows.map((row) => (row.key === key ? { ...row, ...part } : row)))
  const add = (): void => onChange([...rows, { key: Math.max(-1, ...rows.map(({ key }) => key)) + 1, name: '', value: '', stored: false }])
  return (
    <Fieldset legend={label}>
      <Stack gap="xs">
        <Text size="xs" c="dimmed">
          {description}
        </Text>
        {rows.map(({ key, name, value, stored }, index) => (
          <Group key={key} gap="xs" align="flex-end" wrap="nowrap">
            <TextInput
              label={`Name of ${singular} ${index + 1}`}
              size="xs"
              value={name}
              // The stored value belongs to the previous name.
              readOnly={stored}
              onChange={(event) => change(key, { name: event.currentTarget.value })}
              autoComplete="off"
              flex={1}
              miw={0}
            />
            <PasswordInput
              label={`Value of ${singular} ${index + 1}`}
              size="xs"
              value={value}
              placeholder={stored ? (mustReenter ? 'Enter the value again' : 'Stored; leave empty to keep it') : ''}
              onChange={(event) => change(key, { value: event.currentTarget.value })}
              autoComplete="off"
              visibilityToggleButtonProps={{ 'aria-label': `Show value of ${singular} ${index + 1}` }}
              flex={2}
              miw={0}
            />
            <ActionIcon
              variant="default"
              size="md"
              aria-label={`Remove ${singular} ${name || index + 1}`}
              onClick={() => onChange(rows.filter((row) => row.key !== key))}
            >
              <IconX size={16} aria-hidden="true" />
            </ActionIcon>
          </Group>
        ))}
        {error === undefined ? null : <Input.Error role="alert">{error}</Input.Error>}
        <Group>
          <Button size="xs" variant="default" onClick={add}>
            Add {singular}
          </Button>
        </Group>
      </Stack>
    </Fieldset>
  )
}
