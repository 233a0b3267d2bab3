/**
 * The list price and the context window of a model, from the data of the installed version of @pydantic/genai-prices; nothing is
 * downloaded. Used if an agent is saved without them. The stored price belongs to the agent and never changes by itself.
 */
import type { ConditionalPrice, ModelPrice, PriceCalculation, PriceOptions } from '@pydantic/genai-prices'
import { maxPricePerMillion } from '../../ledger/ledger.ts'
import type { Amount, Price } from '../../ledger/ledger.ts'
import type { Provider } from '../../store/queries/providers.ts'

/** Each is undefined if it is not known. `contextWindow` in tokens. `date`: of the look-up, `YYYY-MM-DD`. */
export type KnownModel = { price: Price | undefined; contextWindow: number | undefined; date: string }

/** The installed version, which agents record with a price that is taken from it. */
export const priceList = '@pydantic/genai-prices 0.1.8'

/**
 * Returns nothing if the data has no such provider or model, and no price if one of the two prices is missing. If a price depends on the
 * length of the prompt or on the time of day, the highest one is used: an agent has one price, and it must cover the costs.
 */
export async function knownModel(provider: Pick<Provider, 'kind' | 'baseUrl'>, modelId: string, at = new Date()): Promise<KnownModel> {
  const listed = listedBy(provider)
  if (!listed) return nothingKnown(at)
  // 0.8 MB of data that is only needed when an agent is saved, so it is not loaded at the start.
  const { calcPrice } = await import('@pydantic/genai-prices')
  const found = calcPrice({}, modelId, { ...listed, timestamp: at })
  return { ...nothingKnown(at), price: found ? priceOf(found) : undefined, contextWindow: found?.model.context_window }
}

export const nothingKnown = (at = new Date()): KnownModel => ({
  price: undefined,
  contextWindow: undefined,
  date: at.toISOString().slice(0, 10),
})

function priceOf(found: PriceCalculation): Price | undefined {
  const { prices } = found.model
  const rates = [found.model_price, ...(Array.isArray(prices) ? prices.filter(isOfAnHour).map((one) => one.prices) : [])]
  const promptPerMillion = highest(rates, 'input_mtok')
  const completionPerMillion = highest(rates, 'output_mtok')
  if (promptPerMillion === undefined || completionPerMillion === undefined) return undefined
  const cachedPromptPerMillion = highest(rates, 'cache_read_mtok') ?? null
  const cacheWritePerMillion = highest(rates, 'cache_write_mtok') ?? null
  return { promptPerMillion, completionPerMillion, cachedPromptPerMillion, cacheWritePerMillion }
}

/** Returns undefined without a base URL, because the data would then be searched by the model's name alone. */
function listedBy({ kind, baseUrl }: Pick<Provider, 'kind' | 'baseUrl'>): PriceOptions | undefined {
  if (kind !== 'openai-compatible') return { providerId: kind }
  return baseUrl === null ? undefined : { providerApiUrl: baseUrl }
}

const isOfAnHour = ({ constraint }: ConditionalPrice): boolean => constraint?.type === 'time_of_date'

function highest(rates: ModelPrice[], name: 'input_mtok' | 'output_mtok' | 'cache_read_mtok' | 'cache_write_mtok'): Amount | undefined {
  const listed = rates.flatMap((rate) => {
    const price = rate[name]
    if (price === undefined) return []
    return typeof price === 'number' ? [price] : [price.base, ...price.tiers.map((tier) => tier.price)]
  })
  return listed.length === 0 ? undefined : toAmount(Math.max(...listed))
}

/** Converts USD per million tokens from a float to an integer price, rounded up. Uses the shortest decimal digits: 0.07 is exactly 0.07. */
export function toAmount(usdPerMillion: number): Amount | undefined {
  const match = /^(\d)(?:\.(\d+))?e([+-]\d+)$/.exec(usdPerMillion.toExponential())
  if (!match) return undefined
  const [, whole, fraction = '', exponent] = match
  const digits = BigInt(whole! + fraction)
  const power = Number(exponent) - fraction.length + 8
  const amount = power >= 0 ? digits * 10n ** BigInt(power) : (digits + 10n ** BigInt(-power) - 1n) / 10n ** BigInt(-power)
  return amount <= maxPricePerMillion ? amount : undefined
}
