/** The draft of a first agent, its validation, and the requests that save it. */
import { call } from '../../api/client.ts'
import type { Agent, Owner } from '../../api/types.ts'
import { amountHint, readAmount, writeAmount } from '../../api/amounts.ts'

export const newOwner = 'new'

/** `owner` is an ID or `newOwner`. `model` has no provider. Prices are required if none is known. */
export type Draft = {
  owner: string
  ownerName: string
  balance: string
  name: string
  systemPrompt: string
  model: string
  promptPrice: string
  completionPrice: string
}

export const firstDraft = (owners: Owner[], model: string): Draft => ({
  owner: owners[0]?.id ?? newOwner,
  ownerName: '',
  balance: '10.00',
  name: '',
  systemPrompt:
    'You are a helpful assistant. Answer from the passages of the knowledge base. If they do not contain the answer, say so. Be brief and friendly.',
  model,
  promptPrice: '',
  completionPrice: '',
})

/** Returns the problems by field; empty if all are valid. `asksPrice`: no price is known, so both are required. */
export function faultsOf(draft: Draft, asksPrice: boolean): Partial<Record<keyof Draft, string>> {
  const faults: Partial<Record<keyof Draft, string>> = {}
  const isNew = draft.owner === newOwner
  if (isNew && draft.ownerName.trim() === '') faults.ownerName = 'Enter a name for the owner, such as a person, a team, or a company.'
  const balance = readAmount(draft.balance)
  if (isNew && balance === undefined) faults.balance = amountHint
  else if (isNew && balance !== undefined && balance < 0n) faults.balance = 'The opening balance cannot be negative.'
  if (draft.name.trim() === '') faults.name = 'Enter a name.'
  if (draft.model.trim() === '') faults.model = 'Enter a model ID as listed by the provider.'
  for (const field of ['promptPrice', 'completionPrice'] as const) {
    const price = readAmount(draft[field])
    if (asksPrice && (price === undefined || price < 0n))
      faults[field] = 'Enter dollars per million tokens, such as 0.15, or 0 if you host the model yourself.'
  }
  return faults
}

export const makeOwner = ({ ownerName, balance }: Draft): Promise<Owner> =>
  call<Owner>('/owners', { method: 'POST', body: { name: ownerName.trim(), balance_usd: writeAmount(readAmount(balance) ?? 0n) } })

/** `model` with its provider. */
export function makeAgent(ownerId: string, model: string, draft: Draft, asksPrice: boolean): Promise<Agent> {
  const { name, systemPrompt, promptPrice, completionPrice } = draft
  const price = asksPrice && {
    prompt_usd_per_million: writeAmount(readAmount(promptPrice) ?? 0n),
    completion_usd_per_million: writeAmount(readAmount(completionPrice) ?? 0n),
  }
  return call<Agent>('/agents', {
    method: 'POST',
    body: { owner_id: ownerId, name: name.trim(), system_prompt: systemPrompt, model, ...(price ? { price } : {}) },
  })
}
