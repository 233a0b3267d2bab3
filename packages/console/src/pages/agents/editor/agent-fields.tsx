/** The fields of an agent, for a new one and for a present one. Saves nothing. */
import { Fieldset, NumberInput, Select, SimpleGrid, Stack, Text, TextInput, Textarea } from '@mantine/core'
import type { ReactNode } from 'react'
import type { Agent } from '../../../api/types.ts'
import type { AgentForm } from './agent-values.ts'
import { languageOptions } from './languages.ts'
import { limits, longestPrompt } from './limits.ts'
import type { LimitName } from './limits.ts'
import { ModelFields } from './model-fields.tsx'
import { lengthOf } from './problems.ts'

/** `base`: the agent as it is; `owner`: the field for whose it is to be, of a new one. */
export function AgentFields({ form, base, owner }: { form: AgentForm; base?: Agent; owner?: ReactNode }) {
  return (
    <Stack gap="lg">
      <Fieldset legend="What it is">
        <Stack>
          <TextInput
            label="Name"
            description="For you: neither callers nor the model see it."
            maxLength={200}
            required
            {...form.getInputProps('name')}
          />
          {owner}
          <Prompt form={form} />
        </Stack>
      </Fieldset>
      <ModelFields key={base?.version} form={form} base={base} />
      <Fieldset legend="Limits of a turn">
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          <Limit form={form} name="max_output_tokens" step={256} />
          <Limit form={form} name="max_message_length" step={1000} />
          <Limit form={form} name="max_steps" />
          <Limit form={form} name="max_tool_calls" />
          <NumberInput
            label="Temperature"
            description="From 0, the same answers again, to 2. Empty: the model’s own, which is the default; some models take no other."
            step={0.1}
            decimalScale={2}
            allowNegative={false}
            clampBehavior="none"
            placeholder="The model’s own"
            min={0}
            max={2}
            {...form.getInputProps('temperature')}
          />
          <Limit
            form={form}
            name="history.max_tokens"
            step={1000}
            {...(base ? {} : { placeholder: '8,000, or what a smaller window of the model leaves' })}
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
        description="What the agent is, knows and must not do. The model reads it before every message."
        autosize
        minRows={6}
        maxRows={28}
        {...form.getInputProps('system_prompt')}
      />
      <Text size="xs" c="dimmed" mt={4}>
        {lengthOf(prompt).toLocaleString()} of {longestPrompt.toLocaleString()} characters; counts as {tokens.toLocaleString()} tokens in
        every hold.
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
  return (
    <Fieldset legend="Knowledge">
      <Stack>
        <Text size="sm" c="dimmed">
          How the agent’s documents are searched for each message. Another embedding model or language has them indexed again; meanwhile
          they are found as before.
        </Text>
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          <Limit form={form} name="knowledge.top_k" />
          <Limit form={form} name="knowledge.max_tokens" step={500} />
          <TextInput
            label="Embedding model"
            description="As <provider name>/<model id>: passages are found by meaning too. Empty, the default: by words alone."
            placeholder="openai/text-embedding-3-small"
            maxLength={300}
            {...form.getInputProps('knowledge.embedding_model')}
          />
          <Select
            label="Language of the documents"
            description="So that “shipping” is found by “ship”. Default English; as written is for names, codes and mixed languages."
            data={languageOptions}
            placeholder="English (default)"
            searchable
            clearable
            clearButtonProps={{ 'aria-label': 'Back to the default language', 'aria-hidden': false, tabIndex: 0 }}
            nothingFoundMessage="No such language"
            {...form.getInputProps('knowledge.language')}
          />
        </SimpleGrid>
      </Stack>
    </Fieldset>
  )
}
