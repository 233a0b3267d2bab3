/** The address of the page of one end user. The name is in the query, because it may be any text. */
import { segment } from '../api/client.ts'

export const pathOfEndUser = (agentId: string, externalUserId: string): string =>
  `/end-users/${segment(agentId)}/one?${new URLSearchParams({ external_user_id: externalUserId })}`
