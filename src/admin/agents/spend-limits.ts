/** `billing.spend-limit`: what is spent in the windows of an agent's limits, and the limits of single end users. */
import { ApiError } from '../../errors.ts'
import type { EndUser, EndUserLimits, NewSpendLimit } from '../../store/queries/spend-limits.ts'
import type { Spending } from '../../store/queries/spending.ts'
import { formatUsd } from '../../ledger/ledger.ts'
import type { Amount } from '../../ledger/ledger.ts'
import type { AdminStore, PerRequest } from '../admin-store.ts'
import { fieldsOf, smallestHold } from './agent-fields.ts'

/** `warnings`: about own limits that let no message through. */
export type LimitsOfEndUser = { own: EndUserLimits | undefined; spending: Spending[]; warnings: string[] }

/** Each throws ApiError `not_found` for an agent that does not exist or was deleted. */
export type SpendLimitsAdmin = {
  /** The present windows of the agent and of those of its keys with any spending. */
  listSpending(agentId: string): Promise<Spending[]>
  /** `own`: the limits of the end user itself, if it has any. `spending`: its windows and those of the agent and its keys. */
  findEndUserLimits(endUser: EndUser): Promise<LimitsOfEndUser>
  /** Replaces the limits that the agent has for end users. None: nothing limits this end user but its key and its agent. */
  putEndUserLimits(endUser: EndUser, limits: NewSpendLimit[]): Promise<LimitsOfEndUser>
  /** From the next message on, the limits of the agent apply again. */
  deleteEndUserLimits(endUser: EndUser): Promise<void>
}

async function spendingOf(store: AdminStore, agentId: string, externalUserId?: string): Promise<Spending[]> {
  const spending = await store.read.listSpending(agentId, externalUserId)
  if (!spending) throw noSuchAgent()
  return spending
}
async function warningsOf(store: AdminStore, agentId: string, limits: NewSpendLimit[]): Promise<string[]> {
  const agent = await store.read.findAgent(agentId)
  if (!agent) throw noSuchAgent()
  return limitWarnings(limits, smallestHold(fieldsOf(agent.present)))
}

export const spendLimitsAdmin: PerRequest<SpendLimitsAdmin> = {
  listSpending: ({ store }, agentId) => spendingOf(store, agentId),
  async findEndUserLimits({ store }, endUser) {
    const spending = await spendingOf(store, endUser.agentId, endUser.externalUserId)
    const own = await store.read.findEndUserLimits(endUser)
    return { own, spending, warnings: await warningsOf(store, endUser.agentId, own?.limits ?? []) }
  },
  async putEndUserLimits({ store }, endUser, limits) {
    const own = await store.write.putEndUserLimits({ ...endUser, limits })
    if (!own) throw noSuchAgent()
    const spending = await spendingOf(store, endUser.agentId, endUser.externalUserId)
    return { own, spending, warnings: await warningsOf(store, endUser.agentId, limits) }
  },
  async deleteEndUserLimits({ store }, endUser) {
    await spendingOf(store, endUser.agentId)
    await store.write.deleteEndUserLimits(endUser)
  },
}

/** One sentence for each limit that is below `hold`, the smallest hold of a turn, so that it lets no message through. */
export const limitWarnings = (limits: NewSpendLimit[], hold: Amount): string[] =>
  limits
    .filter(({ amount }) => amount < hold)
    .map(
      ({ scope, span, amount }) =>
        `The limit of ${formatUsd(amount)} USD (${scope}, ${span}) rejects every message, because a turn holds at least ${formatUsd(hold)} USD. Raise the limit, or lower max_output_tokens, knowledge.max_tokens or the price.`,
    )

const noSuchAgent = (): ApiError => new ApiError('not_found', 'This agent does not exist.')
