/** Explains the charge of a turn line by line, with the version of the agent whose prices apply and where they come from. */
import { parseAgentConfig } from '../agent/agent-config.ts'
import type { PriceSource } from '../agent/agent-config.ts'
import { calculatePrice } from '../ledger/price-calculation.ts'
import type { PriceCalculation } from '../ledger/price-calculation.ts'
import type { TurnRecord } from '../store/queries/turns.ts'
import type { AdminStore } from './admin-store.ts'

export type ExplainedCharge = { calculation: PriceCalculation; agentVersion: number; priceSource: PriceSource | null }

/** Null for a turn without a charge. */
export async function explainCharge(
  store: AdminStore,
  { agentId, agentVersion, usage, price }: Pick<TurnRecord, 'agentId' | 'agentVersion' | 'usage' | 'price'>,
): Promise<ExplainedCharge | null> {
  if (!usage) return null
  const version = await store.read.agentVersion(agentId, agentVersion)
  if (!version) throw new Error(`agent ${agentId} has no version ${agentVersion}`)
  const { toolCalls, charged, writtenOff } = usage
  const calculation = calculatePrice({ tokens: usage, price, toolCalls, charged, writtenOff })
  return { calculation, agentVersion, priceSource: parseAgentConfig(version).priceSource }
}
