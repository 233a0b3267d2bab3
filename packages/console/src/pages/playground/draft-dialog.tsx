/** A draft of a version: what its next messages run with. Nothing of the agent is saved. */
import { Autocomplete, Button, Group, Modal, NumberInput, SimpleGrid, Stack, Text, Textarea } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useAgents } from '../../api/lists.ts'
import type { AgentVersion } from '../../api/types.ts'
import type { Overrides } from './settings.ts'

type DraftDialogProps = {
  base: AgentVersion
  overrides: Overrides
  onApply(overrides: Overrides): void
  onDiscard(): void
  onClose(): void
}

/** An empty temperature is the default of the model. */
type Values = { system_prompt: string; model: string; temperature: number | ''; max_output_tokens: number | '' }

const valuesOf = ({ system_prompt, model, temperature, max_output_tokens }: AgentVersion): Values => ({
  system_prompt,
  model,
  temperature: temperature ?? '',
  max_output_tokens,
})

const maxTokens = 200_000
const validate = {
  model: (model: string) => (/^[^/]+\/.+$/.test(model) ? null : 'Enter a model as <provider name>/<model ID>.'),
  temperature: (value: number | '') => (value === '' || (value >= 0 && value <= 2) ? null : 'Enter a number from 0 to 2, or nothing.'),
  max_output_tokens: (value: number | '') =>
    value !== '' && value >= 1 && value <= maxTokens ? null : `Enter a whole number from 1 to ${maxTokens.toLocaleString()}.`,
}

export function DraftDialog({ base, overrides, onApply, onDiscard, onClose }: DraftDialogProps) {
  const saved = valuesOf(base)
  const form = useForm<Values>({ initialValues: valuesOf({ ...base, ...overrides }), validate })
  const agents = useAgents()
  const apply = (values: Values): void => {
    const changed = Object.entries(values).filter(([name, value]) => value !== saved[name as keyof Values])
    onApply(Object.fromEntries(changed.map(([name, value]) => [name, name === 'temperature' && value === '' ? null : value])))
    onClose()
  }
  return (
    <Modal opened onClose={onClose} title={`Draft of version ${base.version}`} size="xl" closeButtonProps={{ 'aria-label': 'Close' }}>
      <form onSubmit={form.onSubmit(apply)} noValidate aria-label="Draft">
        <Stack>
          <Text size="sm" c="dimmed">
            The next messages run with these changes. Their replies are not stored and not charged, but the provider bills them. Tools that
            may have side effects are not called. The agent stays as it is.
          </Text>
          <Textarea label="System prompt" autosize minRows={6} maxRows={16} maxLength={100_000} {...form.getInputProps('system_prompt')} />
          <SimpleGrid cols={{ base: 1, sm: 3 }}>
            <Autocomplete
              label="Model"
              description="<provider name>/<model ID>"
              data={[...new Set([base.model, ...(agents.data ?? []).map((agent) => agent.model)])]}
              maxLength={351}
              {...form.getInputProps('model')}
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
              {...form.getInputProps('temperature')}
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
              {...form.getInputProps('max_output_tokens')}
            />
          </SimpleGrid>
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
