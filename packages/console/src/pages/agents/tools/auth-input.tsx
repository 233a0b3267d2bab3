/** How a tool or an MCP server authenticates. It edits the headers and secrets that are stored; everything else about them is below. */
import { Alert, Fieldset, PasswordInput, Select, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { authKinds, basicCredentials, choose, isOwnSecret, ownedBy, recognize, valueOf } from './auth-presets.ts'
import type { AuthKind, AuthRows } from './auth-presets.ts'
import { TextsInput } from './texts-input.tsx'
import type { TextRow } from './text-rows.ts'

const labels: Record<AuthKind, string> = {
  none: 'None',
  bearer: 'Bearer token',
  header: 'API key in a header',
  basic: 'Basic (user name and password)',
  custom: 'Other headers and secrets',
}

type AuthProps = {
  rows: AuthRows
  /** Stored values cannot be kept. */
  mustReenter: boolean
  errors: { headers: string | undefined; secrets: string | undefined }
  /** What the values of headers can contain. */
  headersHelp: string
  onChange(rows: AuthRows): void
}

export function AuthInput({ rows, mustReenter, errors, headersHelp, onChange }: AuthProps) {
  const [chosen, setKind] = useState<AuthKind>(() => recognize(rows))
  const own = ownedBy(chosen, rows)
  const kind = mustReenter && own.secret && !isOwnSecret(chosen, own.secret) ? 'custom' : chosen
  const { header, secret } = ownedBy(kind, rows)
  const isPreset = kind !== 'none' && kind !== 'custom'
  const edit = (edited: TextRow | undefined, part: Partial<TextRow>): void => {
    const changed = (row: TextRow): TextRow => (row === edited ? { ...row, ...part } : row)
    onChange({ headers: rows.headers.map(changed), secrets: rows.secrets?.map(changed) ?? null })
  }
  const others = (all: TextRow[], owned: TextRow | undefined): TextRow[] => all.filter((row) => row !== owned)
  const withOwn = (owned: TextRow | undefined, next: TextRow[]): TextRow[] => (owned ? [owned, ...next] : next)
  return (
    <Fieldset legend="Authentication">
      <Stack gap="sm">
        <Select
          aria-label="Authentication"
          data={authKinds.map((value) => ({ value, label: labels[value] }))}
          value={kind}
          allowDeselect={false}
          maw={320}
          onChange={(next) => {
            if (next === null || next === kind) return
            onChange(choose(next as AuthKind, kind, rows))
            setKind(next as AuthKind)
          }}
        />
        {isPreset && (secret ?? header) ? (
          <Preset
            key={kind}
            kind={kind}
            header={header}
            holder={(secret ?? header)!}
            isInHeader={rows.secrets === null}
            mustReenter={mustReenter}
            onName={(name) => edit(header, { name, stored: false })}
            onValue={(value) => edit(secret ?? header, { value })}
          />
        ) : null}
        {isPreset && (errors.headers ?? errors.secrets) ? (
          <Alert color="red" variant="light" role="alert">
            {errors.headers ?? errors.secrets}
          </Alert>
        ) : null}
        {kind === 'none' ? (
          <Text size="xs" c="dimmed">
            Requests are sent without credentials.
          </Text>
        ) : null}
        {kind === 'custom' || others(rows.headers, header).length > 0 || others(rows.secrets ?? [], secret).length > 0 ? (
          <>
            <TextsInput
              label="Headers"
              singular="header"
              description={headersHelp}
              rows={others(rows.headers, header)}
              mustReenter={mustReenter}
              error={isPreset ? undefined : errors.headers}
              onChange={(next) => onChange({ ...rows, headers: withOwn(header, next) })}
            />
            {rows.secrets ? (
              <TextsInput
                label="Secrets"
                singular="secret"
                description="Values for the placeholders, at least 4 characters each. They are encrypted, and redacted if a response contains them."
                rows={others(rows.secrets, secret)}
                mustReenter={mustReenter}
                error={isPreset ? undefined : errors.secrets}
                onChange={(next) => onChange({ ...rows, secrets: withOwn(secret, next) })}
              />
            ) : null}
          </>
        ) : null}
      </Stack>
    </Fieldset>
  )
}

type PresetProps = {
  kind: AuthKind
  header: TextRow | undefined
  /** The row with the value that is not shown again. */
  holder: TextRow
  isInHeader: boolean
  mustReenter: boolean
  onName(name: string): void
  onValue(value: string): void
}

function Preset({ kind, header, holder, isInHeader, mustReenter, onName, onValue }: PresetProps) {
  // Not read from the row, whose value may be made of several fields.
  const [entered, setEntered] = useState({ user: '', text: '' })
  const keeps = holder.stored && !mustReenter
  const placeholder = keeps ? 'Stored; leave empty to keep it' : holder.stored ? 'Enter the value again' : ''
  const change = (part: Partial<typeof entered>): void => {
    const next = { ...entered, ...part }
    setEntered(next)
    onValue(valueOf(kind, kind === 'basic' ? basicCredentials(next.user, next.text) : next.text, isInHeader))
  }
  const label = { bearer: 'Token', header: 'API key', basic: 'Password' }[kind as 'bearer' | 'header' | 'basic']
  return (
    <SimpleGrid cols={{ base: 1, sm: kind === 'bearer' ? 1 : 2 }}>
      {kind === 'header' ? (
        <TextInput
          label="Header name"
          value={header?.name ?? ''}
          // The stored value belongs to this name.
          readOnly={header?.stored === true}
          onChange={(event) => onName(event.currentTarget.value)}
          autoComplete="off"
          spellCheck={false}
        />
      ) : null}
      {kind === 'basic' ? (
        <TextInput
          label="User name"
          value={entered.user}
          placeholder={placeholder}
          onChange={(event) => change({ user: event.currentTarget.value })}
          autoComplete="off"
        />
      ) : null}
      <PasswordInput
        label={label}
        value={entered.text}
        placeholder={placeholder}
        onChange={(event) => change({ text: event.currentTarget.value })}
        autoComplete="off"
        visibilityToggleButtonProps={{ 'aria-label': `Show ${label.toLowerCase()}` }}
      />
    </SimpleGrid>
  )
}
