/** Asks the MCP servers what they offer now, shows the differences to the pinned tools, and pins them after approval. */
import { Alert, Badge, Button, Group, Paper, Stack, Text, Title } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call, segment } from '../../../api/client.ts'
import type { Agent, ToolDifferences } from '../../../api/types.ts'
import { FailureNote } from '../../../show/failure-note.tsx'
import { TextDiff } from '../../../show/text-diff.tsx'
import { UnusableTools } from './unusable-tools.tsx'

type Difference = ToolDifferences['data'][number]

export function AskServers({ agent }: { agent: Agent }) {
  const queries = useQueryClient()
  const [said, setSaid] = useState<{ sentence: string; warning: boolean } | null>(null)
  const path = `/agents/${segment(agent.id)}/tools/refresh`
  const ask = useMutation({
    mutationFn: () => call<ToolDifferences>(path, { method: 'POST', body: { approve: false } }),
    onMutate: () => setSaid(null),
    onSuccess: ({ data }) => {
      if (data.length === 0) setSaid({ sentence: 'No changes: the servers offer the pinned tools.', warning: false })
    },
  })
  const approve = useMutation({
    /** `shown`: what was reviewed. The servers are asked again, and may have changed in between. */
    mutationFn: (_shown: Difference[]) => call<ToolDifferences>(path, { method: 'POST', body: { approve: true } }),
    onSuccess: ({ data, version }, shown) => {
      ask.reset()
      void queries.invalidateQueries({ queryKey: ['agents'] })
      const asShown = JSON.stringify(data) === JSON.stringify(shown)
      setSaid(
        asShown
          ? { sentence: `Approved and saved as version ${version}.`, warning: false }
          : {
              sentence: `Approved and saved as version ${version}, but a server changed again after you checked. Compare this version with the previous one.`,
              warning: true,
            },
      )
    },
  })
  const differences = ask.data?.data ?? []
  return (
    <Paper withBorder p="md" component="section" aria-label="Changes on MCP servers">
      <Stack>
        <Group justify="space-between">
          <Text size="sm" maw={520}>
            If a server changes a pinned tool, calls to that tool are rejected until you approve the change.
          </Text>
          <Button variant="default" loading={ask.isPending} onClick={() => ask.mutate()}>
            Check for changes
          </Button>
        </Group>
        <div aria-live="polite">
          {said ? (
            <Alert color={said.warning ? 'yellow' : 'teal'} variant="outline">
              {said.sentence}
            </Alert>
          ) : null}
        </div>
        <FailureNote error={ask.error} title="Could not check the servers" />
        <UnusableTools tools={ask.data?.unusable ?? []} />
        {differences.length > 0 ? (
          <>
            <Title order={3} size="h5">
              {differences.length === 1 ? '1 tool changed' : `${differences.length} tools changed`}
            </Title>
            {differences.map((difference) => (
              <Change key={`${difference.server}/${difference.tool}`} difference={difference} />
            ))}
            <FailureNote error={approve.error} title="Could not approve the changes" />
            <Group justify="flex-end">
              <Button variant="default" onClick={() => ask.reset()}>
                Keep pinned tools
              </Button>
              <Button loading={approve.isPending} onClick={() => approve.mutate(differences)}>
                Approve changes
              </Button>
            </Group>
          </>
        ) : null}
      </Stack>
    </Paper>
  )
}

const colors = { added: 'teal', removed: 'red', changed: 'yellow' }

function Change({ difference: { server, tool, change, before, now } }: { difference: Difference }) {
  return (
    <Stack gap={4}>
      <Group gap="xs">
        <Badge color={colors[change]}>{change}</Badge>
        <Text ff="monospace" size="sm" className="as-written">
          {tool} on {server}
        </Text>
      </Group>
      <TextDiff before={textOf(before)} now={textOf(now)} label={`Changes to ${tool}`} />
    </Stack>
  )
}

function textOf(pinned: Difference['before']): string {
  if (!pinned) return ''
  const { description, side_effects: sideEffects, parameters } = pinned
  return `${sideEffects ? 'side effects' : 'read-only'}\n\n${description}\n\n${JSON.stringify(parameters, undefined, 2)}`
}
