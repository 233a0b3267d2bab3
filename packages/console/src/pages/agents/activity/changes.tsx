/** The last changes of an agent: who changed which fields, and when. */
import { Group, Stack, Text } from '@mantine/core'
import { useList } from '../../../api/lists.ts'
import type { AuditEntry } from '../../../api/types.ts'
import { Moment } from '../../../show/moment.tsx'
import { Waiting } from '../../../show/waiting.tsx'
import { authorOf } from '../../../show/author-of.ts'

const shown = 6
// Trials and readings are no changes.
const others = new Set(['try', 'read', 'export'])
// Enough to find some changes among them.
const loaded = 50
// What was just created has up to twenty fields.
const maxFields = 4

export function Changes({ agentId }: { agentId: string }) {
  const list = useList<AuditEntry>(['audit', 'recent'], '/audit', { subject_id: agentId, noun: 'agent' }, { limit: loaded })
  const changes = list.items.filter(({ verb }) => !others.has(verb)).slice(0, shown)
  return (
    <Waiting for={list.query} what="the changes">
      {() =>
        changes.length === 0 ? (
          <Text size="sm" c="dimmed">
            The audit log has no changes of this agent.
          </Text>
        ) : (
          <Stack component="ul" gap="xs" m={0} p={0} style={{ listStyle: 'none' }}>
            {changes.map((entry) => (
              <li key={entry.id}>
                <Group gap="xs" justify="space-between" wrap="nowrap" align="flex-start">
                  <Text size="sm" className="as-written">
                    <strong>{authorOf(entry)}</strong> {say(entry)}
                  </Text>
                  <Text size="xs" c="dimmed" component="div">
                    <Moment at={entry.created_at} />
                  </Text>
                </Group>
              </li>
            ))}
          </Stack>
        )
      }
    </Waiting>
  )
}

const verbs: Record<string, string> = { create: 'created the agent', delete: 'deleted the agent' }

function say({ verb, fields }: AuditEntry): string {
  const known = verbs[verb]
  if (known !== undefined) return known
  const names = fields.filter((field) => field !== 'version').map((field) => field.replaceAll('_', ' '))
  const more = names.length > maxFields ? ` and ${names.length - maxFields} more` : ''
  return names.length === 0 ? 'changed header or secret values' : `changed ${names.slice(0, maxFields).join(', ')}${more}`
}
