/** The audit log for the operator. The store writes each entry together with its change. */
import { invalid } from '../errors.ts'
import type { AuditEntry, AuditFilter } from '../store/queries/audit-log.ts'
import { pageOf, pageRequest } from '../store/queries/paging.ts'
import type { Page, PageWanted } from '../store/queries/paging.ts'
import type { PerRequest } from './admin-store.ts'

export type AuditAdmin = {
  /** Newest first. Throws ApiError `validation_error` for an empty time range. */
  listAudit(filter: AuditFilter, page: PageWanted): Promise<Page<AuditEntry>>
}

export const auditAdmin: PerRequest<AuditAdmin> = {
  async listAudit({ store }, filter, page) {
    const { from, to } = filter
    if (from !== undefined && to !== undefined && from >= to) throw invalid('from', 'from must be before to.')
    return pageOf(await store.read.listAudit(filter, pageRequest(page)), page)
  },
}
