/** A draft of a version: what its next messages run with. Nothing of the agent is saved. */
import { Button, Group, Modal, Stack, Text, Textarea } from '@mantine/core'
import { useForm } from '@mantine/form'
import type { AgentVersion } from '../../api/types.ts'
import { keepsInput } from '../../show/keeps-input.ts'
import { OverrideFields, changesOf, overrideValuesOf } from '../../show/override-fields.tsx'
import type { OverrideValues } from '../../show/override-fields.tsx'
import type { Overrides } from './settings.ts'

type DraftDialogProps = {
  base: AgentVersion
  overrides: Overrides
  onApply(overrides: Overrides): void
  onDiscard(): void
  onClose(): void
}

const maxTokens = 200_000
const validate = {
  model: (model: string) => (/^[^/]+\/.+$/.test(model) ? null : 'Enter a model as <provider name>/<model ID>.'),
  temperature: (value: number | '') => (value === '' || (value >= 0 && value <= 2) ? null : 'Enter a number from 0 to 2, or nothing.'),
  max_output_tokens: (value: number | '') =>
    value !== '' && value >= 1 && value <= maxTokens ? null : `Enter a whole number from 1 to ${maxTokens.toLocaleString()}.`,
}

export function DraftDialog({ base, overrides, onApply, onDiscard, onClose }: DraftDialogProps) {
  const saved = overrideValuesOf(base)
  const form = useForm<OverrideValues>({ initialValues: overrideValuesOf({ ...base, ...overrides }), validate })
  const apply = (values: OverrideValues): void => {
    onApply(changesOf(saved, values))
    onClose()
  }
  return (
    <Modal opened onClose={onClose} title={`Draft of version ${base.version}`} size="xl" {...keepsInput(form.isDirty())}>
      <form onSubmit={form.onSubmit(apply)} noValidate aria-label="Draft">
        <Stack>
          <Text size="sm" c="dimmed">
            The next messages run with these changes. Their replies are not stored and not charged, but the provider bills them. Tools that
            may have side effects are not called. The agent stays as it is.
          </Text>
          <Textarea label="System prompt" autosize minRows={6} maxRows={16} maxLength={100_000} {...form.getInputProps('system_prompt')} />
          <OverrideFields model={base.model} fieldProps={(name) => form.getInputProps(name)} />
          <Group gap="sm">
            <Button type="submit">Use draft</Button>
            {Object.keys(overrides).length > 0 ? (
              <Button
                variant="default"
                onClick={() => {
                  onDiscard()
                  onClose()
                }}
              >
                Discard draft
              </Button>
            ) : null}
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
