/** The price of a model: shown if it is known, requested otherwise. */
import { SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import type { TextInputProps } from '@mantine/core'
import type { ModelPrice } from '../../api/types.ts'
import { Money } from '../../show/money.tsx'

type PriceFieldsProps = {
  /** Undefined: not loaded yet. */
  known: ModelPrice['price'] | undefined
  pending: boolean
  asks: boolean
  prompt: TextInputProps
  completion: TextInputProps
}

export function PriceFields({ known, pending, asks, prompt, completion }: PriceFieldsProps) {
  return (
    <Stack gap="xs">
      <Text size="sm" aria-live="polite">
        {pending ? 'Looking up the price…' : null}
        {!pending && known ? (
          <>
            Price: <Money amount={known.prompt_usd_per_million} /> per million prompt tokens,{' '}
            <Money amount={known.completion_usd_per_million} /> per million completion tokens
            {known.cached_prompt_usd_per_million === null ? null : (
              <>
                , <Money amount={known.cached_prompt_usd_per_million} /> per million cached prompt tokens
              </>
            )}
            .
          </>
        ) : null}
        {!pending && asks ? 'No price is listed for this model. Enter the price to charge the owner.' : null}
      </Text>
      {asks ? (
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <TextInput label="Prompt price (USD per million tokens)" placeholder="0.15" inputMode="decimal" withAsterisk {...prompt} />
          <TextInput
            label="Completion price (USD per million tokens)"
            placeholder="0.60"
            inputMode="decimal"
            withAsterisk
            {...completion}
          />
        </SimpleGrid>
      ) : null}
    </Stack>
  )
}
