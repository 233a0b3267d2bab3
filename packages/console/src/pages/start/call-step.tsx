/** Step 5: the API call to paste twice. */
import { Anchor, Button, Group, List, Stack, Text } from '@mantine/core'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import { useSession } from '../../api/session.ts'
import type { Agent } from '../../api/types.ts'
import { CodeBlock } from '../../show/code-block.tsx'

export function CallStep({ agent, secret }: { agent: Agent; secret: string | null }) {
  const { data: session } = useSession()
  const base = session?.session.api_url ?? location.origin
  return (
    <Stack>
      <Text>
        <strong>Run this command twice</strong> in a terminal. The second call returns the same reply without calling the model or charging
        again, because both calls use the same Idempotency-Key.
      </Text>
      {secret === null ? (
        <Text size="sm">
          The API key cannot be shown again. Put your key in the first line, or create another one in the <em>API key</em> step.
        </Text>
      ) : null}
      <CodeBlock text={curlOf(base, agent.id, secret)} label="curl command" />
      <Text>Next steps:</Text>
      <List listStyleType="disc">
        <List.Item>
          <Anchor component={Link} href={`/knowledge/${segment(agent.id)}`} underline="always">
            Add documents
          </Anchor>
          : give the agent a knowledge base to answer from
        </List.Item>
        <List.Item>
          <Anchor component={Link} href={`/agents/${segment(agent.id)}`} underline="always">
            Edit agent
          </Anchor>
          : change its tools, limits, and model
        </List.Item>
        <List.Item>
          <Anchor href={`${session?.session.api_url ?? ''}/docs`} target="_blank" rel="noopener" underline="always">
            API reference
          </Anchor>{' '}
          (opens in a new tab)
        </List.Item>
      </List>
      <Group>
        <Button component={Link} href="/?overview">
          Go to overview
        </Button>
      </Group>
    </Stack>
  )
}

/** The key is in a variable, so that the call itself can be shared. */
function curlOf(base: string, agentId: string, secret: string | null): string {
  return [
    `export TURNKEEP_API_KEY='${secret ?? 'svc_live_…'}'`,
    '',
    `curl ${base}/v1/agents/${agentId}/chat \\`,
    `  -H "Authorization: Bearer $TURNKEEP_API_KEY" \\`,
    `  -H "Idempotency-Key: my-first-message" \\`,
    `  -H "Content-Type: application/json" \\`,
    `  -d '{"external_user_id": "you", "message": "Hello, who are you?"}'`,
  ].join('\n')
}
