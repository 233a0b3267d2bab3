/** The audit log for the operator. The store writes each entry together with its change. */
import type { AuditEntry } from '../store/queries/audit.ts'
import { pageOf, pageRequest } from '../store/queries/paging.ts'
import type { Page, PageWanted } from '../store/queries/paging.ts'
import type { AdminStore } from './admin-store.ts'

export type AuditAdmin = {
  /** Newest first. */
  listAudit(page: PageWanted): Promise<Page<AuditEntry>>
}

export const createAuditAdmin = ({ store }: { store: AdminStore }): AuditAdmin => ({
  listAudit: async (page) => pageOf(await store.read.listAudit(pageRequest(page)), page),
})
