/** Headers or secrets by name. A stored value is never shown: it is kept if the field stays empty, and replaced otherwise. */
import { ActionIcon, Button, Fieldset, Group, Input, PasswordInput, Stack, Text, TextInput } from '@mantine/core'
import { IconX } from '@tabler/icons-react'
import type { GivenTexts } from './tool-data.ts'

/** `stored`: a value with this name is stored. `key` identifies a row while its name is edited. */
export type TextRow = { key: number; name: string; value: string; stored: boolean }

export const rowsOf = (names: string[]): TextRow[] => names.map((name, key) => ({ key, name, value: '', stored: true }))

/** Returns the texts as they are sent: null keeps the stored value. */
export const givenOf = (rows: TextRow[]): GivenTexts =>
  Object.fromEntries(rows.map(({ name, value, stored }) => [name.trim(), value === '' && stored ? null : value]))

/** `mustReenter`: stored values cannot be kept. Returns undefined if there is no problem. */
export function problemOfRows(rows: TextRow[], mustReenter: boolean): string | undefined {
  const names = rows.map(({ name }) => name.trim())
  if (names.some((name) => name === '')) return 'Enter a name for each row.'
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice !== undefined) return `${twice} is listed twice.`
  const empty = rows.find(({ value, stored }) => value === '' && (!stored || mustReenter))
  return (
    empty &&
    `Enter a value for ${empty.name.trim()}${empty.stored ? ': the name or the server changed, so the stored value cannot be reused' : ''}.`
  )
}

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
