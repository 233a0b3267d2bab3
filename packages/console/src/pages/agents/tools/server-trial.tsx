/** Connects to an MCP server before it is saved, and lists the tools that saving it would pin. */
import { Button, Group, List, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { call, segment } from '../../../api/client.ts'
import type { Agent, ToolDifferences } from '../../../api/types.ts'
import { FailureNote } from '../../../show/failure-note.tsx'
import { SideEffects } from './side-effects.tsx'
import type { GivenTool } from './tool-data.ts'
import { UnusableTools } from './unusable-tools.tsx'

/** `definition` returns null if a field is not valid, which shows its problem. */
export function ServerTrial({ agent, definition }: { agent: Agent; definition: () => GivenTool | null }) {
  const trial = useMutation({
    mutationFn: (given: GivenTool) =>
      call<ToolDifferences>(`/agents/${segment(agent.id)}/tools/refresh`, { method: 'POST', body: { definition: given } }),
  })
  const start = (): void => {
    const given = definition()
    if (given !== null) trial.mutate(given)
  }
  return (
    <Stack gap="xs">
      <Group justify="space-between">
        <Text size="sm" c="dimmed" flex="1 1 260px">
          Lists the server’s tools with the fields above. Calls none of them and saves nothing.
        </Text>
        <Button variant="default" loading={trial.isPending} onClick={start}>
          Test connection
        </Button>
      </Group>
      <FailureNote error={trial.error} title="Could not list the tools of the server" />
      {trial.error ? (
        <Text size="sm">
          Correct the URL, the headers or the allowed tools, or make sure that the server is running and that Turnkeep can reach it. Then
          test again.
        </Text>
      ) : null}
      <div aria-live="polite">{trial.data ? <Found data={trial.data.data} /> : null}</div>
      <UnusableTools tools={trial.data?.unusable ?? []} />
    </Stack>
  )
}

function Found({ data }: Pick<ToolDifferences, 'data'>) {
  const tools = data.flatMap(({ now }) => now ?? [])
  return (
    <Stack gap="xs">
      <Text size="sm" fw={600}>
        {tools.length === 0
          ? 'Connected. The agent would get no tools from this server.'
          : `Connected. Saving pins ${tools.length === 1 ? '1 tool' : `${tools.length} tools`}:`}
      </Text>
      {tools.length === 0 ? null : (
        <List listStyleType="none" spacing="xs" aria-label="Tools of the server" tabIndex={0} mah={320} style={{ overflow: 'auto' }}>
          {tools.map(({ name, description, side_effects: sideEffects }) => (
            <List.Item key={name}>
              <Group gap="xs">
                <Text size="sm" ff="monospace" fw={600} className="as-written">
                  {name}
                </Text>
                <SideEffects has={sideEffects} />
              </Group>
              <Text size="sm" className="as-written">
                {description}
              </Text>
            </List.Item>
          ))}
        </List>
      )}
    </Stack>
  )
}
