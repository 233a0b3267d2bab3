/** The name of the author of an entry of the audit log. */
import type { AuditEntry } from '../api/types.ts'

/** The kinds of authors. */
export const authors = { operator: 'Operator', token: 'Token', admin_token: 'Admin token', server: 'Turnkeep' } as const

export const authorOf = ({ author_name: name, who }: AuditEntry): string => name ?? authors[who]
