/** The fields of a new or an existing agent. Does not save. */
import { Autocomplete, Fieldset, NumberInput, Select, SimpleGrid, Stack, Text, TextInput, Textarea } from '@mantine/core'
import type { ReactNode } from 'react'
import { useProviderModels } from '../../../api/provider-models.ts'
import type { Agent } from '../../../api/types.ts'
import { boundsOf } from '../../../api/agent-settings.ts'
import type { AgentForm } from './agent-values.ts'
import { languageOptions } from './languages.ts'
import { limits, maxPrompt } from './limits.ts'
import type { LimitName } from './limits.ts'
import { ModelFields } from './model-fields.tsx'
import { lengthOf } from './problems.ts'

const temperature = boundsOf('temperature')

/** `base`: the current agent. `owner`: the field for the owner of a new agent. */
export function AgentFields({ form, base, owner }: { form: AgentForm; base?: Agent; owner?: ReactNode }) {
  return (
    <Stack gap="lg">
      <Fieldset legend="General">
        <Stack>
          <TextInput
            label="Name"
            description="Shown only in the console, not to callers or the model."
            maxLength={200}
            required
            {...form.getInputProps('name')}
          />
          {owner}
          <Prompt form={form} />
        </Stack>
      </Fieldset>
      <ModelFields key={base?.version} form={form} base={base} />
      <Fieldset legend="Turn limits">
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          <Limit form={form} name="max_output_tokens" step={256} />
          <Limit form={form} name="max_message_length" step={1000} />
          <Limit form={form} name="max_steps" />
          <Limit form={form} name="max_tool_calls" />
          <NumberInput
            label="Temperature"
            description="From 0 (most predictable) to 2. Leave empty for the model’s default; some models accept no other value."
            step={0.1}
            decimalScale={2}
            allowNegative={false}
            clampBehavior="none"
            placeholder="Model default"
            min={temperature.least}
            max={temperature.most}
            {...form.getInputProps('temperature')}
          />
          <Limit
            form={form}
            name="history.max_tokens"
            step={1000}
            {...(base ? {} : { placeholder: '8,000, or less if the model’s context window is smaller' })}
          />
        </SimpleGrid>
      </Fieldset>
      <Knowledge form={form} />
    </Stack>
  )
}

function Prompt({ form }: { form: AgentForm }) {
  const prompt = form.values.system_prompt
  const tokens = Math.ceil(new TextEncoder().encode(prompt).length / 2)
  return (
    <div>
      <Textarea
        label="System prompt"
        description="Instructions that are sent to the model with every message."
        autosize
        minRows={6}
        maxRows={28}
        {...form.getInputProps('system_prompt')}
      />
      <Text size="xs" c="dimmed" mt={4}>
        {lengthOf(prompt).toLocaleString()} of {maxPrompt.toLocaleString()} characters, counted as {tokens.toLocaleString()} tokens in each
        hold
      </Text>
    </div>
  )
}

function Limit({ form, name, ...props }: { form: AgentForm; name: LimitName; step?: number; placeholder?: string }) {
  const { label, least, most, help } = limits[name]
  return (
    <NumberInput
      label={label}
      description={help}
      min={least}
      max={most}
      allowDecimal={false}
      allowNegative={false}
      clampBehavior="none"
      thousandSeparator=","
      {...props}
      {...form.getInputProps(name)}
    />
  )
}

function Knowledge({ form }: { form: AgentForm }) {
  const { provider } = form.values.model
  // Suggestions from the provider of the model. Another provider's model can be entered.
  const { models } = useProviderModels(provider)
  const embedding = models.filter(({ id }) => /embed/i.test(id)).map(({ id }) => `${provider}/${id}`)
  return (
    <Fieldset legend="Knowledge">
      <Stack>
        <Text size="sm" c="dimmed">
          How the agent searches its documents for each message. Changing the embedding model or the language reindexes the documents; the
          existing index is used until that is done.
        </Text>
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          <Limit form={form} name="knowledge.top_k" />
          <Limit form={form} name="knowledge.max_tokens" step={500} />
          <Autocomplete
            label="Embedding model"
            data={embedding}
            description="Also finds passages by meaning. Enter <provider name>/<model ID>, or leave empty to search by words only (default)."
            placeholder="openai/text-embedding-3-small"
            maxLength={300}
            {...form.getInputProps('knowledge.embedding_model')}
          />
          <Select
            label="Document language"
            description="Lets “ship” match “shipping”. Choose “No stemming” for names, codes, or mixed languages."
            data={languageOptions}
            placeholder="English (default)"
            searchable
            clearable
            clearButtonProps={{ 'aria-label': 'Reset to default language', 'aria-hidden': false, tabIndex: 0 }}
            nothingFoundMessage="No matching languages"
            {...form.getInputProps('knowledge.language')}
          />
        </SimpleGrid>
      </Stack>
    </Fieldset>
  )
}
