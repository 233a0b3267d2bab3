/** The tools of MCP servers that cannot be used, each with the reason. Renders nothing if the agent can use all of them. */
import { Alert, List, Text } from '@mantine/core'

type UnusableToolsProps = { tools: { name: string; reason: string; server?: string }[] }

export function UnusableTools({ tools }: UnusableToolsProps) {
  if (tools.length === 0) return null
  return (
    <Alert
      color="yellow"
      variant="outline"
      title={tools.length === 1 ? '1 tool cannot be used' : `${tools.length} tools cannot be used`}
      aria-label="Tools that cannot be used"
    >
      <List size="sm">
        {tools.map(({ server, name, reason }) => (
          <List.Item key={JSON.stringify([server, name, reason])}>
            <Text span size="sm" ff="monospace" className="as-written">
              {server === undefined ? name : `${name} on ${server}`}
            </Text>
            : {reason}
          </List.Item>
        ))}
      </List>
    </Alert>
  )
}
