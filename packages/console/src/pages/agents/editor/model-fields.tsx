/** The model and what it costs. Another model takes its listed price, unless a person has set one; where none is listed one must be given. */
import { Anchor, Autocomplete, Button, Fieldset, Group, Select, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { useEffect, useState } from 'react'
import { Link } from 'wouter'
import { useAgents, useProviders } from '../../../api/lists.ts'
import type { Agent, ModelPrice } from '../../../api/types.ts'
import { builtInProvider, joinModel, shortPrice, splitModel } from './agent-values.ts'
import type { AgentForm, AgentValues } from './agent-values.ts'
import { useModelPrice } from './use-model-price.ts'

const noPrice: Agent['price'] = { prompt_usd_per_million: '', completion_usd_per_million: '' }

export function ModelFields({ form, base }: { form: AgentForm; base: Agent | undefined }) {
  const { model, price } = form.values
  const { listed, error } = useModelPrice(model)
  const [ownPrice, setOwnPrice] = useState(false)
  const isEmpty = price.prompt_usd_per_million === '' && price.completion_usd_per_million === ''

  const changeModel = (next: AgentValues['model']): void => {
    form.setFieldValue('model', next)
    form.clearFieldError('model.provider')
    form.clearFieldError('model.id')
    // The former model's price would bill the next one wrongly.
    if (!ownPrice) form.setFieldValue('price', base?.model === joinModel(next) ? shortPrice(base.price) : noPrice)
  }
  useEffect(() => {
    if (listed?.price && !ownPrice && isEmpty) form.setFieldValue('price', shortPrice(listed.price))
  }, [listed, ownPrice, isEmpty, form])

  const priceProps = (field: keyof Agent['price']) => {
    const { onChange, ...props } = form.getInputProps(`price.${field}`)
    return {
      ...props,
      onChange: (event: React.ChangeEvent<HTMLInputElement>) => {
        setOwnPrice(event.currentTarget.value !== '')
        onChange(event)
      },
    }
  }
  const mustGive = listed?.price === null && model.provider !== builtInProvider
  return (
    <Fieldset legend="Model and price">
      <Stack>
        <SimpleGrid cols={{ base: 1, md: 2 }}>
          <ProviderField form={form} onChoose={changeModel} />
          <ModelField form={form} onChoose={changeModel} />
          <TextInput
            label="Prompt price"
            description="US dollars per million tokens that the model reads."
            inputMode="decimal"
            leftSection="$"
            required={mustGive}
            {...priceProps('prompt_usd_per_million')}
          />
          <TextInput
            label="Completion price"
            description="US dollars per million tokens that the model writes."
            inputMode="decimal"
            leftSection="$"
            required={mustGive}
            {...priceProps('completion_usd_per_million')}
          />
        </SimpleGrid>
        <Group gap="sm" aria-live="polite">
          <Text size="sm">{error ? `The price list could not be asked: ${error.message}` : sayListed(listed)}</Text>
          {listed?.price && isOther(listed.price, price) ? (
            <Button
              size="xs"
              variant="default"
              onClick={() => {
                setOwnPrice(false)
                form.setFieldValue('price', shortPrice(listed.price!))
              }}
            >
              Use the listed price
            </Button>
          ) : null}
        </Group>
        <Text size="xs" c="dimmed">
          The price is the agent’s own: owners are charged by it, and it never changes by itself.
        </Text>
      </Stack>
    </Fieldset>
  )
}

function sayListed(listed: ModelPrice | undefined): string {
  if (!listed) return 'The listed price is shown here once provider and model are named.'
  const window = listed.context_tokens === null ? '' : ` Its window has ${listed.context_tokens.toLocaleString()} tokens.`
  if (!listed.price) return `No price is listed for ${listed.model}: say what it costs.${window}`
  const { prompt_usd_per_million: prompt, completion_usd_per_million: completion } = shortPrice(listed.price)
  return `Listed for ${listed.model}: $${prompt} prompt, $${completion} completion per million tokens.${window}`
}

function isOther(listed: Agent['price'], price: Agent['price']): boolean {
  const { prompt_usd_per_million: prompt, completion_usd_per_million: completion } = shortPrice(listed)
  const own = shortPrice({
    prompt_usd_per_million: price.prompt_usd_per_million.trim(),
    completion_usd_per_million: price.completion_usd_per_million.trim(),
  })
  return own.prompt_usd_per_million !== prompt || own.completion_usd_per_million !== completion
}

type FieldProps = { form: AgentForm; onChoose(model: AgentValues['model']): void }

function ProviderField({ form, onChoose }: FieldProps) {
  const providers = useProviders()
  const { model } = form.values
  const names = providers.data?.map(({ name }) => name) ?? []
  const gone = model.provider !== '' && model.provider !== builtInProvider && !names.includes(model.provider) ? [model.provider] : []
  const choose = (provider: string | null): void => {
    if (provider === null || provider === model.provider) return
    const isBuiltIn = provider === builtInProvider
    onChoose({ provider, id: isBuiltIn ? builtInProvider : model.provider === builtInProvider ? '' : model.id })
  }
  const { onChange: _, value: __, ...props } = form.getInputProps('model.provider')
  return (
    <Select
      label="Provider"
      description={
        <>
          Where the model runs.{' '}
          <Anchor component={Link} href="/providers" inherit underline="always">
            Providers
          </Anchor>{' '}
          are connected on a page of their own.
        </>
      }
      placeholder="Choose a provider"
      data={[
        ...[...names, ...gone].map((name) => ({ value: name, label: name })),
        { value: builtInProvider, label: 'demo (built in, no language model)' },
      ]}
      allowDeselect={false}
      required
      {...props}
      {...(providers.error ? { error: providers.error.message } : {})}
      value={model.provider === '' ? null : model.provider}
      onChange={choose}
    />
  )
}

function ModelField({ form, onChoose }: FieldProps) {
  const agents = useAgents()
  const { model } = form.values
  const used = (agents.data ?? []).map((agent) => splitModel(agent.model)).filter(({ provider }) => provider === model.provider)
  const { onChange: _, value: __, ...props } = form.getInputProps('model.id')
  return (
    <Autocomplete
      label="Model id"
      description="As its provider names it. What other agents use of this provider is offered."
      data={[...new Set(used.map(({ id }) => id))]}
      maxLength={250}
      required
      {...props}
      value={model.id}
      onChange={(id) => onChoose({ ...model, id })}
    />
  )
}
