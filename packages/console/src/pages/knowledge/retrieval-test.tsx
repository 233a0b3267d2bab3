/** Searches the knowledge base as a message would: which passages are found, and which fit the agent's budget. */
import { Button, Group, Paper, Stack, Text, TextInput, Title } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { FormEvent } from 'react'
import { call, segment } from '../../api/client.ts'
import type { Agent, Passages } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { refusalOf } from '../../show/refusal.ts'
import { FoundPassage } from './found-passage.tsx'

type Passage = Passages['data'][number]
type Found = { query: string; passages: Passage[]; seen: Set<string> }

// Enough to see what follows directly after what the agent receives.
const shown = 20

export function RetrievalTest({ agent }: { agent: Agent }) {
  const [query, setQuery] = useState('')
  const search = useMutation({
    mutationFn: async (wanted: string): Promise<Found> => {
      const path = `/agents/${segment(agent.id)}/search`
      const ask = (limit?: number): Promise<Passages> =>
        call<Passages>(path, { method: 'POST', body: { query: wanted, ...(limit ? { limit } : {}) } })
      // Without a limit, the result is what the agent would receive.
      const [best, own] = await Promise.all([ask(shown), ask()])
      const seen = new Set(own.data.map(nameOf))
      const beyond = own.data.filter((passage) => !best.data.some((one) => nameOf(one) === nameOf(passage)))
      return { query: wanted, passages: [...best.data, ...beyond], seen }
    },
  })
  const refused = refusalOf(search.error, ['query'])
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (query.trim() !== '') search.mutate(query)
  }
  return (
    <Paper withBorder p="md" component="section" aria-label="Retrieval test">
      <Stack>
        <div>
          <Title order={2} size="h4">
            Retrieval test
          </Title>
          <Text size="sm" c="dimmed">
            Searches {agent.knowledge.embedding_model === null ? 'by words' : 'by words and by meaning'}, as for a message from an external
            user. The owner is not charged.
          </Text>
        </div>
        <form onSubmit={submit}>
          <Group align="flex-end" gap="sm">
            <TextInput
              label="Query"
              value={query}
              onChange={({ currentTarget }) => setQuery(currentTarget.value)}
              maxLength={32_000}
              error={refused.at('query')}
              style={{ flex: '1 1 240px' }}
            />
            <Button type="submit" loading={search.isPending} disabled={query.trim() === ''}>
              Search
            </Button>
          </Group>
        </form>
        <FailureNote error={refused.rest} title="Search failed" />
        <div aria-live="polite">{search.data ? <Text size="sm">{summary(search.data, agent)}</Text> : null}</div>
        {search.data ? (
          <Stack component="ol" gap="sm" m={0} p={0} style={{ listStyle: 'none' }}>
            {search.data.passages.map((passage, index) => (
              <li key={nameOf(passage)}>
                <FoundPassage passage={passage} place={index + 1} query={search.data.query} seen={search.data.seen.has(nameOf(passage))} />
              </li>
            ))}
          </Stack>
        ) : null}
      </Stack>
    </Paper>
  )
}

const nameOf = ({ document_id: id, section, text }: Passage): string => JSON.stringify([id, section, text])

function summary({ passages, seen }: Found, { knowledge }: Agent): string {
  const budget = `${knowledge.top_k.toLocaleString()} passages and ${knowledge.max_tokens.toLocaleString()} tokens`
  if (passages.length === 0) return 'No matching passages. Try other words, or add a document that answers the question.'
  const found = passages.length === 1 ? '1 passage found' : `${passages.length} passages found`
  return `${found}; ${seen.size} would be sent to the model. Limits: ${budget}.`
}
