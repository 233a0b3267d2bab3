/** Runs the message of a turn again with another prompt, model or parameters. Nothing is stored; only this page shows the new reply. */
import { Alert, Autocomplete, Button, Group, NumberInput, SimpleGrid, Stack, Textarea } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { call, segment } from '../../api/client.ts'
import { useAgents } from '../../api/lists.ts'
import type { TurnRerun, TurnTrace } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { errorOfField } from '../../show/field-error.ts'
import { Replies } from './replies.tsx'

/** An empty temperature is the default of the model. */
type Values = { message: string; system_prompt: string; model: string; temperature: number | ''; max_output_tokens: number | '' }

export function RunAgain({ trace }: { trace: TurnTrace }) {
  const { system_prompt, model, temperature, max_output_tokens } = trace.version
  const used: Values = { message: trace.message, system_prompt, model, temperature: temperature ?? '', max_output_tokens }
  const form = useForm<Values>({
    initialValues: used,
    validate: { max_output_tokens: (tokens) => (tokens === '' ? 'Enter a whole number.' : null) },
  })
  const agents = useAgents()
  const rerun = useMutation({
    mutationFn: (values: Values) =>
      call<TurnRerun>(`/turns/${segment(trace.request_id)}/rerun`, { method: 'POST', body: { overrides: changesOf(used, values) } }),
  })
  const fieldProps = (name: keyof Values) => {
    const props = form.getInputProps(name)
    return { ...props, error: props['error'] ?? errorOfField(rerun.error, `overrides\\.${name}`) }
  }
  return (
    <Stack>
      <Alert color="blue" variant="light" title="Nothing is stored in the conversation">
        The message runs with the history that the turn had. No one is charged, but the provider bills the model calls. The knowledge base
        is searched as it is now, and tools that may have side effects are not called.
      </Alert>
      <form onSubmit={form.onSubmit((values) => rerun.mutate(values))} noValidate aria-label="Run again">
        <Stack>
          <Textarea label="System prompt" autosize minRows={4} maxRows={16} {...fieldProps('system_prompt')} />
          <Textarea label="Message" autosize minRows={2} maxRows={10} {...fieldProps('message')} />
          <SimpleGrid cols={{ base: 1, sm: 3 }}>
            <Autocomplete
              label="Model"
              description="<provider name>/<model ID>"
              data={[...new Set([model, ...(agents.data ?? []).map((agent) => agent.model)])]}
              maxLength={351}
              {...fieldProps('model')}
            />
            <NumberInput
              label="Temperature"
              description="From 0 to 2, or empty"
              placeholder="Model default"
              step={0.1}
              decimalScale={2}
              allowNegative={false}
              clampBehavior="none"
              min={0}
              max={2}
              {...fieldProps('temperature')}
            />
            <NumberInput
              label="Max output tokens"
              description="For each model response"
              step={256}
              min={1}
              allowDecimal={false}
              allowNegative={false}
              clampBehavior="none"
              thousandSeparator=","
              {...fieldProps('max_output_tokens')}
            />
          </SimpleGrid>
          <Group gap="sm">
            <Button type="submit" loading={rerun.isPending}>
              Run again
            </Button>
            <Button variant="default" disabled={!form.isDirty()} onClick={form.reset}>
              Reset
            </Button>
          </Group>
        </Stack>
      </form>
      <FailureNote error={rerun.error} title="Could not run the message again" />
      <Replies trace={trace} rerun={rerun.data} ran={rerun.variables} isRunning={rerun.isPending} />
    </Stack>
  )
}

function changesOf(used: Values, values: Values): Record<string, unknown> {
  const changed = Object.entries(values).filter(([name, value]) => value !== used[name as keyof Values])
  return Object.fromEntries(changed.map(([name, value]) => [name, name === 'temperature' && value === '' ? null : value]))
}
