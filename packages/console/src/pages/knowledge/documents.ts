/** The documents of an agent, newest first. Polled while one of them is being indexed. */
import { useState } from 'react'
import { segment } from '../../api/client.ts'
import { useList } from '../../api/lists.ts'
import type { List } from '../../api/lists.ts'
import type { Document } from '../../api/types.ts'

// A small document is indexed within a second, and the progress of a large one moves.
export const whileBusyMs = 1_500

export const isBusy = ({ status }: Document): boolean => status === 'queued' || status === 'indexing'

export function useDocuments(agentId: string): List<Document> {
  const [busy, setBusy] = useState(false)
  const path = `/agents/${segment(agentId)}/documents`
  const list = useList<Document>(['documents', agentId], path, {}, busy ? { refetchMs: whileBusyMs } : {})
  const isNowBusy = list.items.some(isBusy)
  if (isNowBusy !== busy) setBusy(isNowBusy)
  return list
}
