/** What a rerun, a preview or a draft can change of a version: the fields beside its prompt, and what differs from the version. */
import { Autocomplete, NumberInput, SimpleGrid } from '@mantine/core'
import { useAgents } from '../api/lists.ts'

/** An empty temperature is the default of the model. */
export type OverrideValues = { system_prompt: string; model: string; temperature: number | ''; max_output_tokens: number | '' }

type Version = { system_prompt: string; model: string; temperature: number | null; max_output_tokens: number }

export const overrideValuesOf = ({ system_prompt, model, temperature, max_output_tokens }: Version): OverrideValues => ({
  system_prompt,
  model,
  temperature: temperature ?? '',
  max_output_tokens,
})

/** As the API takes it: only what differs. */
export function changesOf<Values extends OverrideValues>(used: Values, values: Values): Record<string, unknown> {
  const changed = Object.entries(values).filter(([name, value]) => value !== used[name as keyof Values])
  return Object.fromEntries(changed.map(([name, value]) => [name, name === 'temperature' && value === '' ? null : value]))
}

type FieldName = Exclude<keyof OverrideValues, 'system_prompt'>

/** `model`: of the version, which is suggested first. */
export function OverrideFields({ model, fieldProps }: { model: string; fieldProps: (name: FieldName) => object }) {
  const agents = useAgents()
  return (
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
  )
}
