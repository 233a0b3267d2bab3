/** The roles as people read them, and what each is for. */
import type { Role } from '../api/types.ts'

export const roleNames: Record<Role, string> = { admin: 'Admin', editor: 'Editor', billing: 'Billing', viewer: 'Viewer' }

export const roleTexts: Record<Role, string> = {
  admin: 'Everything, including operators, tokens and the audit log',
  editor: 'Agents with their knowledge, tools and API keys, webhooks, and conversations; providers without their keys',
  billing: 'Owners, ledger, spend limits and usage',
  viewer: 'Read everything except messages, the audit log and operators',
}

export const roleChoices = (Object.keys(roleNames) as Role[]).map((value) => ({ value, label: roleNames[value] }))
