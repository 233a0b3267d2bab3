/** The tool calls of a reply: the model's arguments and the results, which the server shortens. */
import { Badge, Code, Group, Stack, Text } from '@mantine/core'
import type { Message } from '../../api/types.ts'
import { writeMs } from '../../show/measures.ts'

type Call = Message['tool_calls'][number]

export function ToolCalls({ calls }: { calls: Call[] }) {
  return (
    <Stack component="ol" gap="sm" m={0} p={0} style={{ listStyle: 'none' }}>
      {/* By their place: one step may ask for the same tool twice. */}
      {Array.from(calls.entries(), ([place, call]) => (
        <ToolCall key={place} call={call} />
      ))}
    </Stack>
  )
}

function ToolCall({ call: { name, step, arguments: given, result, is_error: isError, ms } }: { call: Call }) {
  return (
    <Stack component="li" gap={4}>
      <Group gap="xs">
        <Text size="sm" ff="monospace" fw={600} className="as-written">
          {name}
        </Text>
        {result === null ? (
          <Badge color="yellow">Outcome unknown</Badge>
        ) : isError ? (
          <Badge color="red">Error</Badge>
        ) : (
          <Badge color="teal">Succeeded</Badge>
        )}
        <Text size="xs">
          step {step}
          {ms === null ? '' : ` · ${writeMs(ms)}`}
        </Text>
      </Group>
      <ToolText label="Arguments" text={given} />
      {result === null ? null : <ToolText label={isError ? 'Error returned to the model' : 'Result returned to the model'} text={result} />}
    </Stack>
  )
}

const ToolText = ({ label, text }: { label: string; text: string }) => (
  <div>
    <Text size="xs">{label}</Text>
    <Code block tabIndex={0} aria-label={label} mah={240} style={{ overflow: 'auto' }} className="as-written">
      {readable(text)}
    </Code>
  </div>
)

/** JSON with indentation; anything else, and shortened JSON, unchanged. */
function readable(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
