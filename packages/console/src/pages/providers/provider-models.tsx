/** The models that a provider lists, with their prices, as it answers now. */
import { ScrollArea, Stack, Table, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { useProviderModels } from '../../api/provider-models.ts'
import type { Provider } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { writeCount, writeShortCount } from '../../show/measures.ts'
import { shortAmount } from '../../show/short-amount.ts'

// More are found with the field.
const maxShown = 200

export function ProviderModels({ provider }: { provider: Provider }) {
  const { models, isPending, problem, retry } = useProviderModels(provider.name)
  const [search, setSearch] = useState('')
  if (problem !== null)
    return <FailureNote error={new Error(problem)} title={`${provider.name} could not list its models`} onRetry={retry} />
  if (isPending) return <Text role="status">Requesting the models of {provider.name}…</Text>
  if (models.length === 0) return <Text>{provider.name} lists no models. An agent can use one by its ID.</Text>
  const words = search.toLowerCase().split(/\s+/)
  const found = models.filter(({ id }) => words.every((word) => id.toLowerCase().includes(word)))
  return (
    <Stack gap="sm">
      <TextInput
        aria-label="Find a model"
        placeholder={`Find among ${writeCount(models.length)} models`}
        value={search}
        onChange={(event) => setSearch(event.currentTarget.value)}
        data-autofocus
      />
      <ScrollArea.Autosize mah={420} viewportProps={{ tabIndex: 0, 'aria-label': 'Models', role: 'region' }}>
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th scope="col">Model</Table.Th>
              <Table.Th scope="col" ta="right">
                Prompt / completion, USD per million
              </Table.Th>
              <Table.Th scope="col" ta="right">
                Context
              </Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {found.slice(0, maxShown).map(({ id, price, context_tokens: context }) => (
              <Table.Tr key={id}>
                <Table.Th scope="row" fw={500} className="as-written">
                  {id}
                </Table.Th>
                <Table.Td ta="right" className="figures">
                  {price
                    ? `${shortAmount(price.prompt_usd_per_million)} / ${shortAmount(price.completion_usd_per_million)}`
                    : 'not in the price list'}
                </Table.Td>
                <Table.Td ta="right" className="figures">
                  {context === null ? '–' : writeShortCount(context)}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </ScrollArea.Autosize>
      {found.length > maxShown ? (
        <Text size="xs" c="dimmed">
          The first {maxShown} of {writeCount(found.length)}.
        </Text>
      ) : null}
    </Stack>
  )
}
