/** How to use the agent with clients that exist: the addresses to enter, and a snippet for each client. */
import { Code, Group, Stack, Text } from '@mantine/core'
import { useSession } from '../../api/session.ts'
import { CopyButton } from '../../show/copy-button.tsx'
import { addressesFor, clientSnippetsFor } from './client-snippets.ts'
import { SnippetTabs } from './snippet-tabs.tsx'

/** Where each MCP client reads its configuration. */
const files: Record<string, string> = {
  'claude-code': 'In .mcp.json in the folder of a project.',
  cursor: 'In ~/.cursor/mcp.json, or in .cursor/mcp.json of a project.',
  'vs-code': 'In .vscode/mcp.json. VS Code asks for the key once.',
}

export function Clients({ agentId }: { agentId: string }) {
  const session = useSession()
  const apiUrl = session.data?.session.api_url ?? location.origin
  const snippets = clientSnippetsFor({ apiUrl, agentId }).map((snippet) => ({ ...snippet, note: files[snippet.id] }))
  return (
    <Stack>
      <Text size="sm" c="dimmed">
        For a client with a single user, set the default end user ID of its key. MCP clients call the agent as a tool.
      </Text>
      <Stack gap={4}>
        {addressesFor({ apiUrl, agentId }).map(({ label, text, copy }) => (
          <Group key={label} gap="xs">
            <Text size="sm" miw={140}>
              {label}
            </Text>
            <Code>{text}</Code>
            <CopyButton text={text} label={copy} />
          </Group>
        ))}
      </Stack>
      <SnippetTabs label="Client" snippets={snippets} />
    </Stack>
  )
}
