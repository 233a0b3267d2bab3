/** Makes a real call of a tool of the saved version, with arguments from the operator, and shows what the model would receive. */
import { Alert, Badge, Box, Button, Code, Group, Modal, Stack, Text, Textarea } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { FormEvent } from 'react'
import { ApiFailure, call, segment } from '../../../api/client.ts'
import type { Agent, ToolTrial } from '../../../api/types.ts'
import { FailureNote } from '../../../show/failure-note.tsx'
import { useFocusBack } from './use-focus-back.ts'
import { exampleOf, offeredName, readObject } from './tool-data.ts'

/** `server`: the name of its MCP server. */
export type Tried = { server: string | null; tool: string; sideEffects: boolean; parameters: object }

export function TryTool({ agent, tried, onClose }: { agent: Agent; tried: Tried; onClose(): void }) {
  const { server, tool, sideEffects, parameters } = tried
  const [text, setText] = useState(() => JSON.stringify(exampleOf(parameters), undefined, 2))
  useFocusBack()
  const [problem, setProblem] = useState<string | null>(null)
  const trial = useMutation({
    mutationFn: async (args: Record<string, unknown>) => {
      const name = server === null ? tool : await offeredName(server, tool)
      if (name === undefined) throw noName()
      return call<ToolTrial>(`/agents/${segment(agent.id)}/tools/try`, { method: 'POST', body: { tool: name, arguments: args } })
    },
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    const read = readObject(text.trim() === '' ? '{}' : text)
    setProblem('problem' in read ? read.problem : null)
    if ('value' in read) trial.mutate(read.value)
  }
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Test ${tool}${server === null ? '' : ` on ${server}`}`}
      size="lg"
      centered
      closeOnClickOutside={!trial.isPending}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form onSubmit={submit}>
        <Stack>
          {sideEffects ? (
            <Alert color="orange" variant="outline" title="This makes a real call">
              The tool can have side effects, and the console cannot undo them.
            </Alert>
          ) : (
            <Text size="sm" c="dimmed">
              This makes a real call with the settings of version {agent.version}.
            </Text>
          )}
          <Textarea
            label="Arguments"
            description="A JSON object, prefilled with the required parameters."
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            error={problem}

            autosize
            minRows={4}
            maxRows={16}
            spellCheck={false}
            data-autofocus
            styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          />
          <Group justify="flex-end">
            <Button type="submit" loading={trial.isPending}>
              Call tool
            </Button>
          </Group>
          <FailureNote error={trial.error} title="Could not call the tool" />
          <div aria-live="polite">{trial.data ? <Answer answer={trial.data} /> : null}</div>
        </Stack>
      </form>
    </Modal>
  )
}

function Answer({ answer: { result, is_error: isError, ms } }: { answer: ToolTrial }) {
  return (
    <Stack gap="xs">
      <Group gap="xs">
        <Badge color={isError ? 'red' : 'teal'}>
          {isError ? 'Error' : 'Succeeded'}
        </Badge>
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
