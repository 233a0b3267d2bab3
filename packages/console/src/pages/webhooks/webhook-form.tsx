/** Creates a webhook and shows its signing secret once, or edits one. The secret is only in this dialog's memory. */
import { Alert, Button, Checkbox, Group, Modal, Radio, Stack, Text, TextInput } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { FormEvent } from 'react'
import { call, segment } from '../../api/client.ts'
import { useMay } from '../../api/session.ts'
import type { ShownWebhook, Webhook } from '../../api/types.ts'
import { AgentSelect } from '../../show/agent-select.tsx'
import { CodeBlock } from '../../show/code-block.tsx'
import { FailureNote } from '../../show/failure-note.tsx'
import { keepsInput } from '../../show/keeps-input.ts'
import { OwnerSelect } from '../../show/owner-select.tsx'
import { refusalOf } from '../../show/refusal.ts'
import { ShownOnce } from '../../show/shown-once.tsx'
import { eventMeanings } from './facts.tsx'

type Draft = Pick<Webhook, 'url' | 'events' | 'description' | 'owner_id' | 'agent_id' | 'include_messages'>

const empty: Draft = {
  url: '',
  events: ['turn.failed', 'turn.released'],
  description: null,
  owner_id: null,
  agent_id: null,
  include_messages: false,
}

/** Mounted while it is open. Without a webhook, it creates one. */
export function WebhookForm({ webhook, onClose }: { webhook?: Webhook; onClose: () => void }) {
  const [secret, setSecret] = useState<string | null>(null)
  const [initial] = useState<Draft>(webhook ?? empty)
  const [draft, setDraft] = useState(initial)
  const set = (changed: Partial<Draft>): void => setDraft((before) => ({ ...before, ...changed }))
  const mayRead = useMay('conversations')
  const queries = useQueryClient()
  const save = useMutation({
    ...(webhook ? { meta: { done: 'Webhook saved' } } : {}),
    // Without a result, because the query cache would keep the secret.
    mutationFn: async (): Promise<void> => {
      const { url, events, description, owner_id, agent_id, include_messages } = draft
      const body = { url: url.trim(), events, description: description?.trim() || null, owner_id, agent_id, include_messages }
      if (webhook) await call<Webhook>(`/webhooks/${segment(webhook.id)}`, { method: 'PATCH', body })
      else setSecret((await call<ShownWebhook>('/webhooks', { method: 'POST', body })).secret)
    },
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['webhooks'] })
      if (webhook) onClose()
    },
  })
  if (secret !== null)
    return (
      <ShownOnce title="Webhook created" size="lg" stored="I have stored the secret" onStored={onClose}>
        <Alert color="yellow" variant="light" title="Copy the signing secret now">
          It is shown only once. Your receiver verifies with it that a delivery is from Turnkeep. If you lose it, rotate it.
        </Alert>
        <CodeBlock text={secret} label="Signing secret" />
      </ShownOnce>
    )
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    save.mutate()
  }
  const refused = refusalOf(save.error, ['url', 'description', 'events', 'owner_id', 'agent_id', 'include_messages'])
  const title = webhook ? 'Edit webhook' : 'Create webhook'
  return (
    <Modal opened onClose={onClose} title={title} size="lg" {...keepsInput(draft !== initial)}>
      <form noValidate onSubmit={submit}>
        <Stack>
          <TextInput
            label="URL"
            description="A public https address. Events are sent to it with POST."
            placeholder="https://shop.example/turnkeep"
            type="url"
            value={draft.url}
            onChange={(event) => set({ url: event.currentTarget.value })}
            maxLength={2000}
            autoComplete="off"
            spellCheck={false}
            required
            data-autofocus
            error={refused.at('url')}
          />
          <TextInput
            label="Description"
            value={draft.description ?? ''}
            onChange={(event) => set({ description: event.currentTarget.value })}
            maxLength={1000}
            autoComplete="off"
            error={refused.at('description')}
          />
          <EventFields events={draft.events} onChange={(events) => set({ events })} error={refused.at('events')} />
          <Group gap="md" align="flex-start" wrap="wrap">
            <OwnerSelect
              label="Events of"
              value={draft.owner_id}
              onChange={(id) => set({ owner_id: id })}
              clearable
              error={refused.at('owner_id')}
            />
            <AgentSelect
              label="Only this agent"
              value={draft.agent_id}
              onChange={(id) => set({ agent_id: id })}
              clearable
              error={refused.at('agent_id')}
            />
          </Group>
          <Checkbox
            label="Include messages and comments of end users"
            description="Otherwise deliveries have IDs, states and usage only."
            checked={draft.include_messages}
            disabled={!mayRead && !draft.include_messages}
            onChange={(event) => set({ include_messages: event.currentTarget.checked })}
            error={refused.at('include_messages')}
          />
          <FailureNote error={refused.rest} title={webhook ? 'Could not save the webhook' : 'Could not create the webhook'} />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={save.isPending} disabled={draft.url.trim() === '' || draft.events.length === 0}>
              {webhook ? 'Save' : 'Create webhook'}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}

type EventFieldsProps = { events: string[]; onChange: (events: Events) => void; error: string | undefined }

type Events = Webhook['events']
const types = Object.keys(eventMeanings) as Exclude<Events[number], '*'>[]

function EventFields({ events, onChange, error }: EventFieldsProps) {
  const all = events.includes('*')
  return (
    <Stack gap="xs">
      <Radio.Group
        label="Events"
        value={all ? 'all' : 'chosen'}
        error={error}
        onChange={(value) => onChange(value === 'all' ? ['*'] : ['turn.failed', 'turn.released'])}
      >
        <Group gap="md" mt={4}>
          <Radio value="chosen" label="Only these" />
          <Radio value="all" label="All, also future types" />
        </Group>
      </Radio.Group>
      {all ? null : (
        <Checkbox.Group
          value={events}
          onChange={(chosen) => onChange(types.filter((type) => chosen.includes(type)))}
          aria-label="Event types"
        >
          <Stack gap={6}>
            {types.map((type) => (
              <Checkbox
                key={type}
                value={type}
                label={
                  <>
                    <code>{type}</code>{' '}
                    <Text span size="xs" c="dimmed">
                      {eventMeanings[type]}
                    </Text>
                  </>
                }
              />
            ))}
          </Stack>
        </Checkbox.Group>
      )}
      {!all && events.length === 0 ? (
        <Text size="xs" c="red" role="alert">
          Choose at least one event.
        </Text>
      ) : null}
    </Stack>
  )
}
