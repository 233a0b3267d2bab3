/** What an operator should look at, over all agents. Read-only. */
import type { Attention } from '../store/queries/attention.ts'
import type { PerRequest } from './admin-store.ts'

export type AttentionAdmin = {
  /** Failed documents, spend limits that are nearly used, and webhooks that do not deliver. */
  listAttention(): Promise<Attention[]>
}

export const attentionAdmin: PerRequest<AttentionAdmin> = {
  listAttention: ({ store }) => store.read.listAttention({}),
}
