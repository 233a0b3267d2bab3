/** An MCP server with its pinned tools. */
import { Button, Group, Paper, Stack, Table, Text } from '@mantine/core'
import { Names } from './http-tool-card.tsx'
import { Parameters } from './parameters.tsx'
import { SideEffects } from './side-effects.tsx'
import { UnusableTools } from './unusable-tools.tsx'
import type { McpServer } from './tool-data.ts'
import { ListTable } from '../../../show/list-table.tsx'

type CardProps = { server: McpServer; onEdit(): void; onRemove(): void; onTry(tool: McpServer['pinned'][number]): void }

export function McpServerCard({ server, onEdit, onRemove, onTry }: CardProps) {
  const { name, url, allowed, headers, pinned, unusable = [] } = server
  return (
    <Paper withBorder p="md" component="article" aria-label={`MCP server ${name}`}>
      <Stack gap="xs">
        <Group justify="space-between" align="flex-start">
          <Text fw={600} ff="monospace" className="as-written">
            {name}
          </Text>
          <Group gap="xs">
            <Button size="xs" variant="default" onClick={onEdit} aria-label={`Edit ${name}`}>
              Edit
            </Button>
            <Button size="xs" variant="outline" color="red" onClick={onRemove} aria-label={`Remove ${name}`}>
              Remove
            </Button>
          </Group>
        </Group>
        <Text size="xs" ff="monospace" className="as-written">
          {url}
        </Text>
        <Names label="Headers" names={Object.keys(headers)} />
        <Text size="sm">
          {allowed === null
            ? 'All tools are allowed.'
            : allowed.length === 0
              ? 'No tools are allowed.'
              : `Allowed tools: ${allowed.join(', ')}`}
        </Text>
        {pinned.length === 0 ? (
          <Text size="sm">No tools are pinned.</Text>
        ) : (
          <ListTable minWidth={560} aria-label={`Pinned tools of ${name}`}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th scope="col">Pinned tool</Table.Th>
                <Table.Th scope="col">Description sent to the model</Table.Th>
                <Table.Th scope="col">Side effects</Table.Th>
                <Table.Th scope="col">
                  <span className="for-readers-only">Actions</span>
                </Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {pinned.map((tool) => (
                <Table.Tr key={tool.name}>
                  <Table.Th scope="row" ff="monospace" fw={600} className="figures">
                    {tool.name}
                  </Table.Th>
                  <Table.Td className="as-written">
                    {tool.description}
                    <Parameters of={tool.name} schema={tool.parameters} />
                  </Table.Td>
                  <Table.Td>
                    <SideEffects has={tool.side_effects} />
                  </Table.Td>
                  <Table.Td>
                    <Button size="xs" variant="default" aria-label={`Test ${tool.name} on ${name}`} onClick={() => onTry(tool)}>
                      Test
                    </Button>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </ListTable>
        )}
        <UnusableTools tools={unusable} />
      </Stack>
    </Paper>
  )
}
