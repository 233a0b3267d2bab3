/**
 * The parameters of a tool: a form, and the JSON Schema that it writes, as two views of one value. A schema that the form cannot show stays
 * as it is, with the reason.
 */
import {
  ActionIcon,
  Alert,
  Button,
  Checkbox,
  Fieldset,
  Group,
  Input,
  Paper,
  SegmentedControl,
  Select,
  Stack,
  TagsInput,
  Text,
  TextInput,
  Textarea,
} from '@mantine/core'
import { IconX } from '@tabler/icons-react'
import { useState } from 'react'
import { keptKeywords, newRow, problemsOfRows, readRows, simpleTypes, writeRows } from './parameter-rows.ts'
import type { ParameterRow, RowType, SimpleType } from './parameter-rows.ts'
import { readObject } from './tool-data.ts'

/**
 * `value`: JSON. `error`: of the last attempt to save. `isComplete`: all rows of the form are in it; one without a name, for example, is not.
 */
type ParametersProps = { value: string; error: string | undefined; onChange(value: string, isComplete: boolean): void }

const types: { value: RowType; label: string }[] = [
  { value: 'string', label: 'Text' },
  { value: 'number', label: 'Number' },
  { value: 'integer', label: 'Integer' },
  { value: 'boolean', label: 'Boolean' },
  { value: 'enum', label: 'One of' },
  { value: 'array', label: 'List' },
]

export function ParametersInput({ value, error, onChange }: ParametersProps) {
  const [view, setView] = useState<'form' | 'json'>('form')
  const read = readObject(value)
  const rows = 'value' in read ? readRows(read.value) : { reason: `${read.problem} Correct the JSON Schema first.` }
  return (
    <Fieldset legend="Parameters">
      <Stack gap="sm">
        <Group justify="space-between" gap="xs">
          <Text size="xs" c="dimmed" maw={480}>
            The arguments that the model gives. Others are rejected.
          </Text>
          <SegmentedControl
            size="xs"
            aria-label="View of the parameters"
            value={view}
            onChange={(next) => {
              setView(next as 'form' | 'json')
              // What the form held beside the schema is gone.
              onChange(value, true)
            }}
            data={[
              { value: 'form', label: 'Form' },
              { value: 'json', label: 'JSON Schema' },
            ]}
          />
        </Group>
        {view === 'json' ? (
          <Textarea
            label="JSON Schema"
            description="Of type object. Arguments that properties does not list are rejected unless additionalProperties allows them."
            autosize
            minRows={6}
            maxRows={20}
            spellCheck={false}
            styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
            value={value}
            onChange={(event) => onChange(event.currentTarget.value, true)}
            error={error ?? ('problem' in read ? read.problem : undefined)}
          />
        ) : 'reason' in rows ? (
          <Alert color="gray" variant="light" title="Only as JSON Schema">
            <Text size="sm">{rows.reason} Nothing of it is lost.</Text>
            <Button mt="xs" size="xs" variant="default" onClick={() => setView('json')}>
              Edit JSON Schema
            </Button>
          </Alert>
        ) : (
          <RowsForm schema={'value' in read ? read.value : {}} read={rows.rows} marksMissing={error !== undefined} onChange={onChange} />
        )}
        {view === 'form' && error !== undefined ? <Input.Error role="alert">{error}</Input.Error> : null}
      </Stack>
    </Fieldset>
  )
}

type RowsFormProps = {
  schema: Record<string, unknown>
  read: ParameterRow[]
  /** Not while a person has just added the row. */
  marksMissing: boolean
  onChange(value: string, isComplete: boolean): void
}

/**
 * The rows are those of the schema while all of them are valid. A row without a name, or with that of another one, is in no schema yet, so it
 * is held here until it is corrected.
 */
function RowsForm({ schema, read, marksMissing, onChange }: RowsFormProps) {
  const [held, setHeld] = useState<ParameterRow[] | null>(null)
  const rows = held ?? read
  const problems = problemsOfRows(rows)
  const change = (next: ParameterRow[]): void => {
    setHeld(next)
    const wrong = problemsOfRows(next)
    const valid = next.filter(({ key }) => !wrong.has(key))
    onChange(JSON.stringify(writeRows(schema, valid), undefined, 2), wrong.size === 0)
  }
  const nextKey = Math.max(-1, ...rows.map(({ key }) => key)) + 1
  return (
    <Stack gap="sm">
      {rows.length === 0 ? (
        <Text size="sm" c="dimmed">
          No parameters. The model calls the tool without arguments.
        </Text>
      ) : null}
      {rows.map((row, index) => (
        <RowFields
          key={row.key}
          row={row}
          number={index + 1}
          problems={row.name === '' && !marksMissing ? {} : (problems.get(row.key) ?? {})}
          onChange={(part) => change(rows.map((one) => (one.key === row.key ? { ...one, ...part } : one)))}
          onRemove={() => change(rows.filter(({ key }) => key !== row.key))}
        />
      ))}
      <Group>
        <Button size="xs" variant="default" onClick={() => change([...rows, newRow(nextKey)])}>
          Add parameter
        </Button>
      </Group>
    </Stack>
  )
}

type RowProps = {
  row: ParameterRow
  number: number
  problems: { name?: string; values?: string }
  onChange(part: Partial<ParameterRow>): void
  onRemove(): void
}

function RowFields({ row, number, problems, onChange, onRemove }: RowProps) {
  const { name, type, description, required, values, itemType } = row
  const kept = keptKeywords(row)
  return (
    <Paper withBorder p="sm" role="group" aria-label={`Parameter ${name || number}`}>
      <Stack gap="xs">
        <Group gap="xs" align="flex-start">
          <TextInput
            label="Name"
            size="xs"
            value={name}
            onChange={(event) => onChange({ name: event.currentTarget.value })}
            error={problems.name}
            autoComplete="off"
            spellCheck={false}
            flex="1 1 140px"
          />
          <Select
            label="Type"
            size="xs"
            data={types}
            value={type}
            onChange={(next) => next && onChange({ type: next as RowType })}
            allowDeselect={false}
            w={110}
          />
          {type === 'array' ? (
            <Select
              label="List of"
              size="xs"
              data={types.filter(({ value }) => simpleTypes.some((one) => one === value))}
              value={itemType}
              onChange={(next) => next && onChange({ itemType: next as SimpleType })}
              allowDeselect={false}
              w={110}
            />
          ) : null}
          <Checkbox
            label="Required"
            size="xs"
            mt={28}
            checked={required}
            onChange={(event) => onChange({ required: event.currentTarget.checked })}
          />
          <ActionIcon mt={22} aria-label={`Remove parameter ${name || number}`} onClick={onRemove}>
            <IconX size={16} aria-hidden="true" />
          </ActionIcon>
        </Group>
        {type === 'enum' ? (
          <TagsInput
            label="Values"
            description="Press Enter after each."
            size="xs"
            value={values}
            onChange={(next) => onChange({ values: next })}
            error={problems.values}
          />
        ) : null}
        <TextInput
          label="Description"
          size="xs"
          value={description}
          placeholder="What the model should give"
          onChange={(event) => onChange({ description: event.currentTarget.value })}
          autoComplete="off"
        />
        {kept.length > 0 ? (
          <Text size="xs" c="dimmed" className="as-written">
            Kept from the JSON Schema: {kept.join(', ')}
          </Text>
        ) : null}
      </Stack>
    </Paper>
  )
}
