/** The arguments of a trial: a form from the schema of the tool, and the JSON that it writes, as two views of one value. */
import { Group, NumberInput, SegmentedControl, Select, Stack, TagsInput, Text, TextInput, Textarea } from '@mantine/core'
import { useState } from 'react'
import { readRows } from './parameter-rows.ts'
import type { ParameterRow } from './parameter-rows.ts'
import { readObject } from './tool-data.ts'

/** `value`: JSON. */
type ArgumentsProps = { schema: object; value: string; error: string | null; onChange(value: string): void }

export function ArgumentsInput({ schema, value, error, onChange }: ArgumentsProps) {
  const [view, setView] = useState<'form' | 'json'>('form')
  const found = readRows(schema as Record<string, unknown>)
  const read = readObject(value)
  const rows = 'rows' in found ? found.rows : []
  const showsForm = view === 'form' && 'rows' in found && 'value' in read
  return (
    <Stack gap="xs">
      {'rows' in found && rows.length > 0 ? (
        <Group justify="space-between">
          <Text size="sm" fw={600}>
            Arguments
          </Text>
          <SegmentedControl
            size="xs"
            aria-label="View of the arguments"
            value={showsForm ? 'form' : 'json'}
            onChange={(next) => setView(next as 'form' | 'json')}
            data={[
              { value: 'form', label: 'Form' },
              { value: 'json', label: 'JSON' },
            ]}
          />
        </Group>
      ) : null}
      {showsForm && rows.length > 0 ? (
        rows.map((row) => (
          <Argument
            key={row.name}
            row={row}
            value={read.value[row.name]}
            onChange={(next) => {
              const { [row.name]: _, ...others } = read.value
              onChange(JSON.stringify(next === undefined ? others : { ...read.value, [row.name]: next }, undefined, 2))
            }}
          />
        ))
      ) : (
        <Textarea
          label="Arguments"
          description="A JSON object, prefilled with the required parameters."
          value={value}
          onChange={(event) => onChange(event.currentTarget.value)}
          error={error}
          autosize
          minRows={4}
          maxRows={16}
          spellCheck={false}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
        />
      )}
      {showsForm && error !== null ? (
        <Text size="xs" c="red" role="alert">
          {error}
        </Text>
      ) : null}
    </Stack>
  )
}

type ArgumentProps = { row: ParameterRow; value: unknown; onChange(value: unknown): void }

/** An empty field of an optional parameter leaves it out. */
function Argument({ row, value, onChange }: ArgumentProps) {
  const { name, type, description, required, values, itemType } = row
  const shared = { label: name, required, ...(description === '' ? {} : { description }) }
  switch (type) {
    case 'number':
    case 'integer':
      return (
        <NumberInput
          {...shared}
          allowDecimal={type === 'number'}
          value={typeof value === 'number' ? value : ''}
          onChange={(next) => onChange(typeof next === 'number' ? next : undefined)}
        />
      )
    case 'boolean':
    case 'enum':
      return (
        <Select
          {...shared}
          data={type === 'enum' ? values : ['true', 'false']}
          value={value === undefined ? null : String(value)}
          onChange={(next) => onChange(next === null ? undefined : type === 'enum' ? next : next === 'true')}
          clearable={!required}
          clearButtonProps={{ 'aria-label': `Clear ${name}`, 'aria-hidden': false, tabIndex: 0 }}
        />
      )
    case 'array':
      return (
        <TagsInput
          {...shared}
          placeholder="Press Enter after each"
          value={Array.isArray(value) ? value.map(String) : []}
          onChange={(next) => onChange(next.length === 0 && !required ? undefined : next.map((text) => readItem(text, itemType)))}
        />
      )
    case 'string':
      return (
        <TextInput
          {...shared}
          value={typeof value === 'string' ? value : ''}
          onChange={({ currentTarget: { value: text } }) => onChange(text === '' && !required ? undefined : text)}
          autoComplete="off"
        />
      )
  }
}

/** A text that is no number or boolean is sent as it is, and the result says what the tool expects. */
function readItem(text: string, type: ParameterRow['itemType']): unknown {
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  const number = Number(text)
  return (type === 'number' || type === 'integer') && text.trim() !== '' && Number.isFinite(number) ? number : text
}
