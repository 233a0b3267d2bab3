/** Runs the message of a turn again with another prompt, model or parameters. Nothing is stored; only this page shows the new reply. */
import { Alert, Button, Group, Stack, Textarea } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { call, segment } from '../../api/client.ts'
import type { TurnRerun, TurnTrace } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { refusalOf, relocated, within } from '../../show/refusal.ts'
import { OverrideFields, changesOf, overrideValuesOf } from '../../show/override-fields.tsx'
import type { OverrideValues } from '../../show/override-fields.tsx'
import { Replies } from './replies.tsx'

type Values = OverrideValues & { message: string }

export function RunAgain({ trace }: { trace: TurnTrace }) {
  const { model } = trace.version
  const used: Values = { message: trace.message, ...overrideValuesOf(trace.version) }
  const form = useForm<Values>({
    initialValues: used,
    validate: { max_output_tokens: (tokens) => (tokens === '' ? 'Enter a whole number.' : null) },
  })
  const rerun = useMutation({
    mutationFn: (values: Values) =>
      call<TurnRerun>(`/turns/${segment(trace.request_id)}/rerun`, { method: 'POST', body: { overrides: changesOf(used, values) } }).catch(
        (error: unknown) => {
          throw relocated(error, within('overrides'))
        },
      ),
  })
  const refused = refusalOf(rerun.error, Object.keys(used) as (keyof Values)[])
  const fieldProps = (name: keyof Values) => {
    const props = form.getInputProps(name)
    return { ...props, error: props['error'] ?? refused.at(name) }
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
          <OverrideFields model={model} fieldProps={fieldProps} />
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
      <FailureNote error={refused.rest} title="Could not run the message again" />
      <Replies trace={trace} rerun={rerun.data} ran={rerun.variables} isRunning={rerun.isPending} />
    </Stack>
  )
}
