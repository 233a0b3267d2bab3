/** The tools that need no server, enabled or disabled. Each change is saved immediately. */
import { Button, Checkbox, Fieldset, Group, Stack } from '@mantine/core'
import type { Agent } from '../../../api/types.ts'
import { FailureNote } from '../../../show/failure-note.tsx'
import type { BuiltInTool } from './tool-data.ts'
import { useSaveTools } from './use-save-tools.ts'

/** `parameters`: the initial arguments of a test. */
const builtIn = [
  {
    name: 'now',
    label: 'Clock (now)',
    description: 'Returns the current date and time in UTC and in a time zone that the model names.',
    parameters: { type: 'object' },
  },
  {
    name: 'search_knowledge',
    label: 'Knowledge search (search_knowledge)',
    description: 'Lets the model search the knowledge base, in addition to the passages in every prompt.',
    parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
  },
]

type BuiltInProps = { agent: Agent; onSaved(sentence: string): void; onTry(name: string, parameters: object): void }

export function BuiltInTools({ agent, onSaved, onTry }: BuiltInProps) {
  const save = useSaveTools(agent, ({ version }, { before, after }) =>
    onSaved(`${after ? 'Enabled' : 'Disabled'} ${(after ?? before)?.name}. Saved as version ${version}.`),
  )
  const present = agent.tools.filter((tool): tool is BuiltInTool => tool.type === 'builtin')
  return (
    <Fieldset legend="Built-in tools">
      <Stack>
        {builtIn.map(({ name, label, description, parameters }) => {
          const tool = present.find((one) => one.name === name) ?? null
          return (
            <Group key={name} justify="space-between" align="flex-start" wrap="nowrap">
              <Checkbox
                label={label}
                description={description}
                checked={tool !== null}
                disabled={save.isPending}
                onChange={() => save.mutate({ before: tool, after: tool ? null : { type: 'builtin', name, price_usd: '0' } })}
              />
              {tool ? (
                <Button size="xs" variant="default" flex="none" aria-label={`Test ${name}`} onClick={() => onTry(name, parameters)}>
                  Test
                </Button>
              ) : null}
            </Group>
          )
        })}
        <FailureNote error={save.error} title="Could not save the tools" />
      </Stack>
    </Fieldset>
  )
}
