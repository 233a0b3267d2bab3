/** Step 5: the call that a program makes, to be pasted twice. */
import { Anchor, Button, Group, List, Stack, Text } from '@mantine/core'
import { Link } from 'wouter'
import { segment } from '../../api/client.ts'
import { useSession } from '../../api/session.ts'
import type { Agent } from '../../api/types.ts'
import { CodeBlock } from '../../show/code-block.tsx'

export function CallStep({ agent, secret }: { agent: Agent; secret: string | null }) {
  const { data: session } = useSession()
  const base = session?.api_url ?? location.origin
  return (
    <Stack>
      <Text>
        <strong>Paste it twice</strong> into a terminal: the second time brings the same reply again, without a call of the model and
        without a charge. That is what the Idempotency-Key is for.
      </Text>
      {secret === null ? (
        <Text size="sm">
          The key is not shown a second time: put yours in the first line, or make another one in the step <em>API key</em>.
        </Text>
      ) : null}
      <CodeBlock text={curlOf(base, agent.id, secret)} label="the curl command" />
      <Text>Where to go from here:</Text>
      <List listStyleType="disc">
        <List.Item>
          <Anchor component={Link} href={`/knowledge/${segment(agent.id)}`} underline="always">
            Give it knowledge
          </Anchor>
          : documents whose passages it answers from
        </List.Item>
        <List.Item>
          <Anchor component={Link} href={`/agents/${segment(agent.id)}`} underline="always">
            Open the editor
          </Anchor>
          : tools, limits, versions
        </List.Item>
        <List.Item>
          <Anchor href={`${session?.api_url ?? ''}/docs`} target="_blank" rel="noopener" underline="always">
            API reference
          </Anchor>{' '}
          (opens a new tab)
        </List.Item>
      </List>
      <Group>
        <Button component={Link} href="/?overview">
          Finish and see the overview
        </Button>
      </Group>
    </Stack>
  )
}

/** The key stands in a variable, so that the call itself can be shared. */
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
