/** Formats the price calculation of a charge for a terminal: one line for each kind of tokens, for the tool calls and for the sum. Pure. */

type Source = { from: string; list: string | null; date: string | null }
export type PriceCalculation = {
  lines: { kind: string; tokens: number | null; usd_per_million: string | null; amount_usd: string }[]
  rounding_usd: string
  cost_usd: string
  limited_to_hold: boolean
  written_off_usd: string
  charged_usd: string
  agent_version: number
  price_source: Source | null
}

export function priceLines(calculation: PriceCalculation): string[] {
  const { lines, rounding_usd: rounding, cost_usd: cost, written_off_usd: writtenOff, charged_usd: charged } = calculation
  const amounts: [string, string][] = [
    ...lines.map((line): [string, string] => [describe(line), line.amount_usd]),
    ...(isZero(rounding) ? [] : [['rounded up', rounding] as [string, string]]),
    ...(calculation.limited_to_hold
      ? ([
          ['cost', cost],
          ['written off, because the charge is limited to the hold', writtenOff],
        ] as [string, string][])
      : []),
    ['charged', charged],
  ]
  const width = Math.max(...amounts.map(([name]) => name.length))
  return [
    `Price of agent version ${calculation.agent_version}${describeSource(calculation.price_source)}`,
    ...amounts.map(([name, amount]) => `${name.padEnd(width)}  ${amount} USD`),
  ]
}

export function describeSource(source: Source | null): string {
  if (source === null) return ''
  const on = source.date === null ? '' : `, ${source.date}`
  switch (source.from) {
    case 'price_list':
      return `, from the price list ${source.list}${on}`
    case 'built_in':
      return ', of the built-in model'
    default:
      return `, set by the operator${on}`
  }
}

function describe({ kind, tokens, usd_per_million: price }: PriceCalculation['lines'][number]): string {
  const name = kind.replaceAll('_', ' ')
  return tokens === null || price === null ? name : `${name}: ${tokens.toLocaleString('en-US')} tokens at ${price} USD per million`
}

const isZero = (amount: string): boolean => !/[1-9]/.test(amount)
