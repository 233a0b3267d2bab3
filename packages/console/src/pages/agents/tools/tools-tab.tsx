/** The tools of an agent: HTTP tools, MCP servers and built-in tools. Every change is saved immediately as a version. */
import { Button, Group, Stack, Text, Title } from '@mantine/core'
import { useState } from 'react'
import { useQueryClient } from '@tanstack/react-query'
import { Confirm } from '../../../show/confirm.tsx'
import { useMay } from '../../../api/session.ts'
import type { Agent } from '../../../api/types.ts'
import { Empty } from '../../../show/empty.tsx'
import { FailureNote } from '../../../show/failure-note.tsx'
import { useToast } from '../../../show/toasts.tsx'
import { AskServers } from './ask-servers.tsx'
import { BuiltInTools } from './built-in-tools.tsx'
import { EditHttpTool } from './edit-http-tool.tsx'
import { EditMcpServer } from './edit-mcp-server.tsx'
import { HttpToolCard } from './http-tool-card.tsx'
import { McpServerCard } from './mcp-server-card.tsx'
import type { HttpTool, McpServer } from './tool-data.ts'
import { TryTool } from './try-tool.tsx'
import type { Tried } from './trial.tsx'
import { useSaveTools } from './use-save-tools.ts'
import { useUndoRemoval } from './use-undo-removal.ts'

/** `before` null: a new tool. */
type Editing = { type: 'http'; before: HttpTool | null } | { type: 'mcp'; before: McpServer | null }

export function ToolsTab({ agent }: { agent: Agent }) {
  const queries = useQueryClient()
  const [editing, setEditing] = useState<Editing | null>(null)
  const [removing, setRemoving] = useState<HttpTool | McpServer | null>(null)
  const [tried, setTried] = useState<Tried | null>(null)
  const toast = useToast()
  const undo = useUndoRemoval(agent.id)
  // Rolling back concerns prices.
  const mayUndo = useMay('agents', true)
  const http = agent.tools.filter((tool) => tool.type === 'http')
  const servers = agent.tools.filter((tool) => tool.type === 'mcp')
  const remove = useSaveTools(agent, ({ version }, { before }) => {
    const name = before?.name ?? 'the tool'
    toast(`Removed ${name}. Saved as version ${version}.`, mayUndo ? () => undo.mutate({ name, removed: version }) : undefined)
    setRemoving(null)
  })
  const close = (): void => {
    setEditing(null)
    // After a conflicting change was shown, continue with the current tools.
    void queries.invalidateQueries({ queryKey: ['agents', agent.id] })
  }
  const done = (sentence: string): void => {
    setEditing(null)
    toast(sentence)
  }
  const askToRemove = (tool: HttpTool | McpServer): void => {
    remove.reset()
    setRemoving(tool)
  }
  return (
    <Stack gap="xl">
      <Group justify="space-between" align="flex-start">
        <Text size="sm" c="dimmed" maw={620}>
          The model sees the name, description, and parameters of each tool and decides when to call it. You set the URL and the credentials
          here. Each change is saved immediately as a new version.
        </Text>
        <Group gap="xs">
          <Button onClick={() => setEditing({ type: 'http', before: null })}>Add HTTP tool</Button>
          <Button variant="default" onClick={() => setEditing({ type: 'mcp', before: null })}>
            Add MCP server
          </Button>
        </Group>
      </Group>
      <FailureNote error={undo.error} title="Could not restore the tool" />
      {http.length + servers.length === 0 ? (
        <Empty title="No tools yet">
          An HTTP tool calls one endpoint of your API. An MCP server provides several tools that you approve. The demo model does not call
          tools.
        </Empty>
      ) : null}
      {http.length > 0 ? (
        <Stack component="section" aria-label="HTTP tools">
          <Title order={2} size="h4">
            HTTP tools
          </Title>
          {http.map((tool) => (
            <HttpToolCard
              key={tool.name}
              tool={tool}
              onEdit={() => setEditing({ type: 'http', before: tool })}
              onRemove={() => askToRemove(tool)}
              onTry={() => setTried({ server: null, tool: tool.name, sideEffects: tool.side_effects, parameters: tool.parameters })}
            />
          ))}
        </Stack>
      ) : null}
      {servers.length > 0 ? (
        <Stack component="section" aria-label="MCP servers">
          <Title order={2} size="h4">
            MCP servers
          </Title>
          {servers.map((server) => (
            <McpServerCard
              key={server.name}
              server={server}
              onEdit={() => setEditing({ type: 'mcp', before: server })}
              onRemove={() => askToRemove(server)}
              onTry={({ name, side_effects: sideEffects, parameters }) =>
                setTried({ server: server.name, tool: name, sideEffects, parameters })
              }
            />
          ))}
          <AskServers agent={agent} />
        </Stack>
      ) : null}
      <BuiltInTools
        agent={agent}
        onSaved={(sentence) => toast(sentence)}
        onTry={(tool, parameters) => setTried({ server: null, tool, sideEffects: false, parameters })}
      />
      {editing?.type === 'http' ? <EditHttpTool agent={agent} before={editing.before} onClose={close} onDone={done} /> : null}
      {editing?.type === 'mcp' ? <EditMcpServer agent={agent} before={editing.before} onClose={close} onDone={done} /> : null}
      {tried ? <TryTool agent={agent} tried={tried} onClose={() => setTried(null)} /> : null}
      <Confirm
        opened={removing !== null}
        title={`Remove ${removing?.name ?? ''}?`}
        verb={removing?.type === 'mcp' ? 'Remove server' : 'Remove tool'}
        pending={remove.isPending}
        error={remove.error}
        onConfirm={() => {
          if (removing) remove.mutate({ before: removing, after: null })
        }}
        onClose={() => setRemoving(null)}
      >
        <Text size="sm">
          This saves a new version without it. Running turns can still use it, and older versions keep it with its header and secret values.
        </Text>
      </Confirm>
    </Stack>
  )
}
