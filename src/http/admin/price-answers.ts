/** How the admin API writes prices: of an agent, of a tool, and the price calculation that explains a charge. */
import type { Static } from 'typebox'
import type { AdminCalls } from '../../admin/admin.ts'
import { formatExactUsd } from '../../ledger/price-calculation.ts'
import { AmountUsd, Count, PriceSource, Version, orNull } from './answer-fields.ts'
import { writePriceSource, writeUsd } from './fields.ts'
import { define } from '../public/schemas.ts'
import { Type } from '../edge/schema.ts'

type Charge = NonNullable<Awaited<ReturnType<AdminCalls['findTurn']>>['charge']>

/** Of the `usage` of a turn or a model call. */
export const usageDetails = {
  prompt_tokens_details: Type.Object(
    { cached_tokens: Count, cache_write_tokens: Count },
    { description: 'Prompt tokens that the provider read from its cache, and those that it wrote to it. Part of `prompt_tokens`.' },
  ),
  completion_tokens_details: Type.Object({ reasoning_tokens: Count }, { description: 'Part of `completion_tokens`.' }),
}
const ExactUsd = Type.String({
  pattern: '^\\d+\\.\\d{8,14}$',
  description: 'Exact, with up to 14 decimal places.',
  examples: ['0.0003870125'],
})

export const PriceCalculation = define(
  'PriceCalculation',
  Type.Object(
    {
      lines: Type.Array(
        Type.Object({
          kind: Type.Enum(['prompt', 'cached_prompt', 'cache_write', 'completion', 'tool_calls'], {
            description: '`prompt`: the prompt tokens that were neither read from a cache nor written to it.',
          }),
          tokens: orNull(Count),
          usd_per_million: orNull(AmountUsd),
          amount_usd: ExactUsd,
        }),
      ),
      rounding_usd: Type.String({ ...ExactUsd, description: 'What was added to round the sum of the lines up to 8 places.' }),
      cost_usd: AmountUsd,
      limited_to_hold: Type.Boolean({ description: 'Whether the cost was above the hold, so that the rest was written off.' }),
      written_off_usd: AmountUsd,
      charged_usd: AmountUsd,
      agent_version: Type.Integer({ ...Version, description: 'The version of the agent whose prices apply.' }),
      price_source: PriceSource,
    },
    { description: 'How the charge was computed, line by line.' },
  ),
)

export function writeCalculation({ calculation, agentVersion, priceSource }: Charge): Static<typeof PriceCalculation.ref> {
  const { lines, rounding, cost, writtenOff, charged } = calculation
  return {
    lines: lines.map((line) => ({
      kind: line.kind,
      tokens: line.kind === 'tool_calls' ? null : line.tokens,
      usd_per_million: line.kind === 'tool_calls' ? null : writeUsd(line.perMillion),
      amount_usd: formatExactUsd(line.exact),
    })),
    rounding_usd: formatExactUsd(rounding),
    cost_usd: writeUsd(cost),
    limited_to_hold: writtenOff > 0n,
    written_off_usd: writeUsd(writtenOff),
    charged_usd: writeUsd(charged),
    agent_version: agentVersion,
    price_source: writePriceSource(priceSource),
  }
}

type Details = { cachedPromptTokens: number; cacheWriteTokens: number; reasoningTokens: number }
type UsageDetails = Static<ReturnType<typeof Type.Object<typeof usageDetails>>>

/** `billing.token-kinds` */
export const writeDetails = ({ cachedPromptTokens, cacheWriteTokens, reasoningTokens }: Details): UsageDetails => ({
  prompt_tokens_details: { cached_tokens: cachedPromptTokens, cache_write_tokens: cacheWriteTokens },
  completion_tokens_details: { reasoning_tokens: reasoningTokens },
})
