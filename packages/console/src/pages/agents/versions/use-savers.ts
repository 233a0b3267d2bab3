/** Who saved each version of an agent, from the audit log; empty without the permission. Old entries may be gone. */
import { maxPage, useList } from '../../../api/lists.ts'
import { useMay } from '../../../api/session.ts'
import type { AuditEntry } from '../../../api/types.ts'
import { authorOf } from '../../../show/author-of.ts'

export function useSavers(agentId: string): Map<number, string> {
  const enabled = useMay('audit', true)
  const list = useList<AuditEntry>(
    ['agents', agentId, 'savers'],
    '/audit',
    { subject_id: agentId, noun: 'agent' },
    { limit: maxPage, enabled },
  )
  const saved = list.items.flatMap((entry): [number, string][] => {
    const version = entry.changes?.['version']?.after
    return typeof version === 'number' ? [[version, authorOf(entry)]] : []
  })
  return new Map(saved)
}
