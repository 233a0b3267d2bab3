/** How a charge was computed: one line for each kind of tokens, for the tool calls, the rounding and the sum. */
import { Table, Text } from '@mantine/core'
import type { PriceCalculation, PriceSource } from '../api/types.ts'
import { writeCount } from './measures.ts'
import { shortAmount } from './short-amount.ts'

const names: Record<PriceCalculation['lines'][number]['kind'], string> = {
  prompt: 'Prompt',
  cached_prompt: 'Cached prompt',
  cache_write: 'Cache write',
  completion: 'Completion',
  tool_calls: 'Tool calls',
}

export function PriceOfTurn({ calculation }: { calculation: PriceCalculation | null }) {
  if (calculation === null) return null
  const { lines, rounding_usd: rounding, written_off_usd: writtenOff } = calculation
  return (
    <div>
      <Table.ScrollContainer minWidth={360} type="native" tabIndex={0} role="region" aria-label="Price calculation">
        <Table verticalSpacing={2} fz="xs">
          <Table.Thead>
            <Table.Tr>
              <Table.Th scope="col">Kind</Table.Th>
              <Table.Th scope="col">Tokens</Table.Th>
              <Table.Th scope="col">USD per million</Table.Th>
              <Table.Th scope="col">USD</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {lines.map(({ kind, tokens, usd_per_million: price, amount_usd: amount }) => (
              <Row
                key={kind}
                name={names[kind]}
                tokens={tokens === null ? '–' : writeCount(tokens)}
                price={price === null ? '–' : shortAmount(price)}
                amount={amount}
              />
            ))}
            {isZero(rounding) ? null : <Row name="Rounded up" amount={rounding} />}
            {isZero(writtenOff) ? null : <Row name="Written off (above the hold)" amount={`−${writtenOff}`} />}
            <Row name="Charged" amount={calculation.charged_usd} />
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      <Text size="xs" c="dimmed" className="as-written">
        Price of agent version {calculation.agent_version}
        {describeSource(calculation.price_source)}.
      </Text>
    </div>
  )
}

const isZero = (amount: string): boolean => !/[1-9]/.test(amount)

const Row = ({ name, tokens = '', price = '', amount }: { name: string; tokens?: string; price?: string; amount: string }) => (
  <Table.Tr>
    <Table.Th scope="row">{name}</Table.Th>
    <Table.Td className="figures">{tokens}</Table.Td>
    <Table.Td className="figures">{price}</Table.Td>
    <Table.Td className="figures">{amount}</Table.Td>
  </Table.Tr>
)

/** Follows the words that name the price. */
export function describeSource(source: PriceSource): string {
  if (source === null) return ''
  const on = source.date === null ? '' : ` on ${source.date}`
  switch (source.from) {
    case 'price_list':
      return `, from the price list ${source.list}${on}`
    case 'built_in':
      return ', of the built-in model'
    case 'operator':
      return `, set by an operator${on}`
  }
}
