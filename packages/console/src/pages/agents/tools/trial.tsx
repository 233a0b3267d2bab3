/** A real call of a tool with arguments from the operator, and what the model would receive. */
import { Alert, Badge, Box, Button, Code, Group, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { ApiFailure, call, segment } from '../../../api/client.ts'
import type { Agent, ToolTrial } from '../../../api/types.ts'
import { FailureNote } from '../../../show/failure-note.tsx'
import { ArgumentsInput } from './arguments-input.tsx'
import { exampleOf, offeredName, readObject } from './tool-data.ts'
import type { GivenTool } from './tool-data.ts'

/** `server`: the name of its MCP server. */
export type Tried = { server: string | null; tool: string; sideEffects: boolean; parameters: object }

/** `definition`: of a tool that is not saved, or null if it is not valid, which shows its problems. Absent: the saved tool is called. */
type TrialProps = { agent: Agent; tried: Tried; definition?: () => GivenTool | null }

export function Trial({ agent, tried: { server, tool, sideEffects, parameters }, definition }: TrialProps) {
  const [text, setText] = useState<string | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  // Until an argument is entered, those of the present parameters.
  const shown = text ?? JSON.stringify(exampleOf(parameters), undefined, 2)
  const trial = useMutation({
    mutationFn: async ({ args, given }: { args: Record<string, unknown>; given: GivenTool | undefined }) => {
      const name = given?.name ?? (server === null ? tool : await offeredName(server, tool))
      if (name === undefined) throw noName()
      const body = { tool: name, arguments: args, ...(given ? { definition: given } : {}) }
      return call<ToolTrial>(`/agents/${segment(agent.id)}/tools/try`, { method: 'POST', body })
    },
  })
  const start = (): void => {
    const read = readObject(shown.trim() === '' ? '{}' : shown)
    setProblem('problem' in read ? read.problem : null)
    if (!('value' in read)) return
    const given = definition?.()
    if (given !== null) trial.mutate({ args: read.value, given })
  }
  return (
    <Stack>
      {sideEffects ? (
        <Alert color="orange" variant="light" title="This makes a real call">
          The tool can have side effects, and the console cannot undo them.
        </Alert>
      ) : (
        <Text size="sm" c="dimmed">
          This makes a real call with {definition ? 'the settings above, which are not saved' : `the settings of version ${agent.version}`}.
        </Text>
      )}
      <ArgumentsInput schema={parameters} value={shown} error={problem} onChange={setText} />
      <Group justify="flex-end">
        <Button variant={definition ? 'default' : 'filled'} loading={trial.isPending} onClick={start}>
          Call tool
        </Button>
      </Group>
      <FailureNote error={trial.error} title="Could not call the tool" />
      <div aria-live="polite">{trial.data ? <Answer answer={trial.data} /> : null}</div>
    </Stack>
  )
}

function Answer({ answer: { result, is_error: isError, ms } }: { answer: ToolTrial }) {
  return (
    <Stack gap="xs">
      <Group gap="xs">
        <Badge color={isError ? 'red' : 'teal'}>{isError ? 'Error' : 'Succeeded'}</Badge>
        <Text size="sm">after {Math.round(ms).toLocaleString()} ms. The model would receive:</Text>
      </Group>
      <Box component="section" aria-label="Result" tabIndex={0} mah={320} style={{ overflow: 'auto' }}>
        <Code block className="as-written">
          {result === '' ? '(empty)' : result}
        </Code>
      </Box>
    </Stack>
  )
}

const noName = (): ApiFailure =>
  new ApiFailure({
    status: 0,
    code: 'no_name',
    message:
      'This tool can be tested only over https, because the browser needs a secure connection to compute its name. Open the console over https.',
  })
