/** A field for a model ID: the models that the provider lists with their prices, searchable, and any other text. */
import { Anchor, Autocomplete, Group, Loader, Text } from '@mantine/core'
import type { AutocompleteProps } from '@mantine/core'
import { useState } from 'react'
import { useProviderModels } from '../api/provider-models.ts'
import type { ListedModel } from '../api/provider-models.ts'
import { writeCount, writeShortCount } from './measures.ts'
import { shortAmount } from './short-amount.ts'

// More are not read, but searched.
const maxOptions = 100
const none: string[] = []

/** `used`: model IDs to suggest if there is no list. */
type ModelInputProps = Omit<AutocompleteProps, 'data' | 'value' | 'onChange'> & {
  provider: string
  value: string
  used?: readonly string[]
  onChange(id: string): void
}

export function ModelInput({ provider, value, used = none, onChange, ...props }: ModelInputProps) {
  const { models, isPending, problem, retry } = useProviderModels(provider)
  // Before a person types, the whole list is shown, not only what the present ID matches.
  const [isTyped, setTyped] = useState(false)
  const known = new Map(models.map((model) => [model.id, model]))
  const ids = known.size > 0 ? [...known.keys()] : [...new Set(used)]
  return (
    <div>
      <Autocomplete
        maxLength={200}
        autoComplete="off"
        spellCheck={false}
        {...props}
        data={ids}
        value={value}
        limit={maxOptions}
        maxDropdownHeight={320}
        rightSection={isPending ? <Loader size="xs" aria-hidden="true" /> : null}
        onDropdownOpen={() => setTyped(false)}
        onChange={(id) => {
          setTyped(true)
          onChange(id)
        }}
        filter={({ options, search, limit }) => {
          const words = isTyped ? search.toLowerCase().split(/\s+/) : []
          const fits = (id: string): boolean => words.every((word) => id.toLowerCase().includes(word))
          return options.filter((option) => 'value' in option && fits(option.value)).slice(0, limit)
        }}
        renderOption={({ option }) => <Option id={option.value} model={known.get(option.value)} />}
      />
      <Text size="xs" c="dimmed" mt={4} aria-live="polite" component="div">
        {problem !== null ? (
          <>
            {provider} could not list its models:{' '}
            <Text span inherit className="as-written" c="red">
              {problem}
            </Text>{' '}
            Enter the ID of a model, or{' '}
            <Anchor component="button" type="button" inherit underline="always" onClick={retry}>
              request the list again
            </Anchor>
            .
          </>
        ) : (
          said({ provider, count: models.length, isPending, isListed: known.has(value) || value.trim() === '' })
        )}
      </Text>
    </div>
  )
}

function Option({ id, model }: { id: string; model: ListedModel | undefined }) {
  return (
    <Group justify="space-between" gap="sm" wrap="nowrap" w="100%">
      <Text span size="sm" className="as-written">
        {id}
      </Text>
      {model ? (
        <Text span size="xs" c="dimmed" className="figures">
          {describe(model)}
        </Text>
      ) : null}
    </Group>
  )
}

function describe({ price, context_tokens: context }: ListedModel): string {
  const parts = [
    price && `$${shortAmount(price.prompt_usd_per_million)} / $${shortAmount(price.completion_usd_per_million)}`,
    context === null ? null : `${writeShortCount(context)} context`,
  ]
  return parts.filter((part) => part !== null).join(' · ')
}

type Said = { provider: string; count: number; isPending: boolean; isListed: boolean }

function said({ provider, count, isPending, isListed }: Said): string {
  if (provider === '' || provider === 'demo') return ''
  if (isPending && count === 0) return `Requesting the models of ${provider}…`
  if (count === 0) return ''
  const listed = `${provider} lists ${count === 1 ? '1 model' : `${writeCount(count)} models`}. Prices are for a million prompt and completion tokens.`
  return isListed ? listed : `${listed} This ID is not among them; it can be used if the provider accepts it.`
}
