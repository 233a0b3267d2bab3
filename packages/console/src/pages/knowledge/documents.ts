/** The documents of an agent, newest first. Polled while one of them is being indexed. */
import { useState } from 'react'
import { segment } from '../../api/client.ts'
import { pageSize, useList } from '../../api/lists.ts'
import type { List } from '../../api/lists.ts'
import type { Document } from '../../api/types.ts'

// A small document is indexed within a second, and the progress of a large one moves.
export const whileBusyMs = 1_500

export const isBusy = ({ status }: Document): boolean => status === 'queued' || status === 'indexing'

/** `status` null: of every status. */
export function useDocuments(agentId: string, status: Document['status'] | null): List<Document> {
  const [pages, setPages] = useState(0)
  const path = `/agents/${segment(agentId)}/documents`
  // Every loaded page is loaded again, so a long list less often.
  const list = useList<Document>(['documents', agentId], path, { status }, pages > 0 ? { refetchMs: whileBusyMs * pages } : {})
  const busyPages = list.items.some(isBusy) ? Math.max(1, Math.ceil(list.items.length / pageSize)) : 0
  if (busyPages !== pages) setPages(busyPages)
  return list
}
