/** The name of the author of an entry of the audit log. */
import type { AuditEntry } from '../../api/types.ts'
import { authors } from '../operations/audit-asked.ts'

export const authorOf = ({ author_name: name, who }: AuditEntry): string => name ?? authors[who]
