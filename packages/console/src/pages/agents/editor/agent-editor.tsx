/**
 * The settings of an existing agent. Only what differs from the version that they are based on is sent. If another operator has created a
 * version meanwhile, it is shown before it is overwritten.
 */
import { Alert, Button, Group, Paper, Stack, Text } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { call, segment } from '../../../api/client.ts'
import type { Agent } from '../../../api/types.ts'
import { FailureNote } from '../../../show/failure-note.tsx'
import { changedLabels } from '../../../show/agent-content.ts'
import { refusalOf, showRefusal } from '../../../show/refusal.ts'
import { AgentFields } from './agent-fields.tsx'
import { changesOf, fieldPaths, keepTyped, valuesOf } from './agent-values.ts'
import type { AgentValues } from './agent-values.ts'
import { Overtaken } from './overtaken.tsx'
import { problemsOf } from './problems.ts'

type Saved = { kind: 'saved'; agent: Agent; before: number; sent: AgentValues } | { kind: 'overtaken'; by: Agent }

const settingsOf = (agent: Agent): Agent => ({ ...agent, tools: [] })

type EditorProps = { agent: Agent; unsaved: boolean; onUnsaved(unsaved: boolean): void }

/** Shows the current version while there are no unsaved changes, for example after a tool was added or another operator has saved. */
export function AgentEditor({ agent, unsaved, onUnsaved }: EditorProps) {
  const [started, setStarted] = useState({ base: agent, times: 1 })
  if (agent.version > started.base.version && !unsaved) setStarted({ base: agent, times: started.times + 1 })
  return (
    <Settings
      key={started.times}
      agent={agent}
      base={started.base}
      onBase={(base) => setStarted({ ...started, base })}
      onUnsaved={onUnsaved}
    />
  )
}

/** `base`: the version that the settings are based on. `agent`: the current version. */
type SettingsProps = { agent: Agent; base: Agent; onBase(base: Agent): void; onUnsaved(unsaved: boolean): void }

function Settings({ agent, base, onBase, onUnsaved }: SettingsProps) {
  const queries = useQueryClient()
  const [said, setSaid] = useState('')
  const saveButton = useRef<HTMLButtonElement>(null)
  const form = useForm<AgentValues>({ initialValues: valuesOf(base), validate: (values) => problemsOf(values, 'present') })
  const path = `/agents/${segment(agent.id)}`
  const changes = changesOf(valuesOf(base), form.values)
  const unsaved = Object.keys(changes).length > 0

  const begin = (from: Agent, values: AgentValues = valuesOf(from)): void => {
    onBase(from)
    form.setValues(values)
    form.clearErrors()
  }
  const save = useMutation({
    /** `agreed`: the version that the operator has seen and overwrites. */
    mutationFn: async (agreed: number | undefined): Promise<Saved> => {
      const sent = form.getValues()
      const now = await call<Agent>(path)
      const others = changedLabels(settingsOf(base), settingsOf(now))
      if (others.length > 0 && now.version !== agreed) return { kind: 'overtaken', by: now }
      return {
        kind: 'saved',
        agent: await call<Agent>(path, { method: 'PATCH', body: changesOf(valuesOf(base), sent) }),
        before: now.version,
        sent,
      }
    },
    onSuccess: (outcome) => {
      if (outcome.kind === 'overtaken') return
      queries.setQueryData(['agents', agent.id], outcome.agent)
      void queries.invalidateQueries({ queryKey: ['agents'] })
      const { version } = outcome.agent
      setSaid(version === outcome.before ? `No changes: version ${version} already has these settings.` : `Saved as version ${version}.`)
      // The fields can be edited while the request is on its way.
      begin(outcome.agent, keepTyped(valuesOf(outcome.agent), outcome.sent, form.getValues()))
    },
    onError: (error) => showRefusal(form, refusalOf(error, fieldPaths)),
  })

  useEffect(() => onUnsaved(unsaved), [unsaved, onUnsaved])
  const isBehind = agent.version > base.version
  const overtaken = save.data?.kind === 'overtaken' ? save.data.by : null
  const others = isBehind ? changedLabels(settingsOf(base), settingsOf(agent)) : []
  return (
    <form
      noValidate
      onSubmit={form.onSubmit(
        () => {
          if (save.isPending) return
          if (!unsaved) return setSaid('No changes to save.')
          setSaid('')
          save.mutate(undefined)
        },
        (errors) => form.getInputNode(Object.keys(errors)[0] ?? '')?.focus(),
      )}
    >
      <Stack gap="lg">
        {unsaved && others.length > 0 ? (
          <Alert color="yellow" variant="outline" title={`Version ${agent.version} was saved while you were editing`}>
            It changed {others.join(', ')}. You can review those changes before yours are saved.
          </Alert>
        ) : null}
        <AgentFields form={form} base={base} />
        <FailureNote error={refusalOf(save.error, fieldPaths).rest} title="Could not save the agent" />
        <Paper withBorder p="sm" pos="sticky" bottom={0} style={{ zIndex: 1 }}>
          <Group justify="space-between" gap="sm">
            <Text size="sm" aria-live="polite">
              {unsaved
                ? 'You have unsaved changes. Running turns finish on the version they started with.'
                : said || `Current version: ${base.version}`}
            </Text>
            <Group gap="xs">
              {unsaved ? (
                <Button
                  variant="default"
                  onClick={() => {
                    begin(agent)
                    setSaid('Changes discarded.')
                    // The pressed button disappears.
                    saveButton.current?.focus()
                  }}
                >
                  Discard changes
                </Button>
              ) : null}
              {/* Not `loading`, which takes the focus away from it. */}
              <Button type="submit" ref={saveButton} aria-busy={save.isPending}>
                {save.isPending ? 'Saving…' : 'Save'}
              </Button>
            </Group>
          </Group>
        </Paper>
      </Stack>
      <Overtaken
        by={overtaken}
        base={base}
        changes={changes}
        pending={save.isPending}
        onTake={(theirs) => {
          queries.setQueryData(['agents', agent.id], theirs)
          begin(theirs)
          save.reset()
        }}
        onWriteOver={(version) => save.mutate(version)}
        onClose={() => save.reset()}
      />
    </form>
  )
}
