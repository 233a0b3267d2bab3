/** A saved HTTP tool. */
import { Badge, Button, Group, Paper, Stack, Text } from '@mantine/core'
import { Parameters } from './parameters.tsx'
import { SideEffects } from './side-effects.tsx'
import type { HttpTool } from './tool-data.ts'

type CardProps = { tool: HttpTool; onEdit(): void; onRemove(): void; onTry(): void }

export function HttpToolCard({ tool, onEdit, onRemove, onTry }: CardProps) {
  const { name, description, method, url, headers, secrets, timeout_seconds: timeout, side_effects: sideEffects } = tool
  return (
    <Paper withBorder p="md" component="article" aria-label={`Tool ${name}`}>
      <Stack gap="xs">
        <Group justify="space-between" align="flex-start">
          <Group gap="xs">
            <Text fw={600} ff="monospace" className="as-written">
              {name}
            </Text>
            <SideEffects has={sideEffects} />
            <Badge color="gray">{timeout} s timeout</Badge>
          </Group>
          <Group gap="xs">
            <Button size="xs" variant="default" onClick={onTry} aria-label={`Test ${name}`}>
              Test
            </Button>
            <Button size="xs" variant="default" onClick={onEdit} aria-label={`Edit ${name}`}>
              Edit
            </Button>
            <Button size="xs" variant="outline" color="red" onClick={onRemove} aria-label={`Remove ${name}`}>
              Remove
            </Button>
          </Group>
        </Group>
        <Text size="sm" className="as-written">
          {description}
        </Text>
        <Text size="xs" ff="monospace" className="as-written">
          {method} {url}
        </Text>
        <Parameters of={name} schema={tool.parameters} />
        <Names label="Headers" names={Object.keys(headers)} />
        <Names label="Secrets" names={Object.keys(secrets)} />
      </Stack>
    </Paper>
  )
}

/** Names of headers or secrets. Their values are never shown. */
export function Names({ label, names }: { label: string; names: string[] }) {
  if (names.length === 0) return null
  return (
    <Text size="xs" c="dimmed" className="as-written">
      {label} (values hidden): {names.join(', ')}
    </Text>
  )
}
