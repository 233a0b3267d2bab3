/** Uploads to a knowledge base, a few at a time, each with its progress and failure. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { segment } from '../../api/client.ts'
import { randomId } from '../../api/random-id.ts'
import type { Document } from '../../api/types.ts'
import type { Gathered } from './dropped-files.ts'
import { sendFile } from './send-file.ts'

export type Upload = {
  id: string
  file: File
  state: 'waiting' | 'sending' | 'sent' | 'failed'
  /** Percentage of its bytes. */
  progress: number
  failure: unknown
}

// The server accepts 8 files at a time from all operators.
const maxAtOnce = 3
// The list below is not loaded again for each of a thousand files.
const reloadMs = 2_000

/** `skipped`: files of folders whose kind is not supported. */
export type Uploads = {
  all: Upload[]
  skipped: number
  active: number
  add(gathered: Gathered): void
  retry(ids: readonly string[]): void
  clear(): void
}

export const isActive = ({ state }: Upload): boolean => state === 'waiting' || state === 'sending'

export function useUploads(agentId: string): Uploads {
  const queries = useQueryClient()
  const [all, setAll] = useState<Upload[]>([])
  const [skipped, setSkipped] = useState(0)
  const line = useRef<Pick<Upload, 'id' | 'file'>[]>([])
  const underWay = useRef(0)
  const reloadedAt = useRef(0)

  const change = (id: string, changed: Partial<Upload>): void =>
    setAll((before) => before.map((upload) => (upload.id === id ? { ...upload, ...changed } : upload)))

  const reload = (): void => {
    const isLast = line.current.length === 0 && underWay.current <= 1
    if (!isLast && Date.now() - reloadedAt.current < reloadMs) return
    reloadedAt.current = Date.now()
    void queries.invalidateQueries({ queryKey: ['documents', agentId] })
  }

  const send = useMutation({
    mutationFn: ({ id, file }: Pick<Upload, 'id' | 'file'>) => {
      change(id, { state: 'sending' })
      return sendFile<Document>(`/agents/${segment(agentId)}/documents`, file, {
        method: 'POST',
        onProgress: (progress) => change(id, { progress }),
      })
    },
    onSuccess: (_, { id }) => change(id, { state: 'sent', progress: 100 }),
    onError: (failure, { id }) => change(id, { state: 'failed', failure }),
    onSettled: reload,
  })

  async function next(): Promise<void> {
    const upload = underWay.current < maxAtOnce ? line.current.shift() : undefined
    if (!upload) return
    underWay.current++
    // Its failure is shown in its line.
    await send.mutateAsync(upload).catch(() => undefined)
    underWay.current--
    void next()
  }

  function queue(uploads: Pick<Upload, 'id' | 'file'>[]): void {
    line.current.push(...uploads)
    for (const _ of uploads) void next()
  }

  return {
    all,
    skipped,
    active: all.filter(isActive).length,
    add({ files, skipped: left }) {
      const uploads = files.map((file): Upload => ({ id: randomId(), file, state: 'waiting', progress: 0, failure: null }))
      setAll((before) => [...before.filter(({ state }) => state !== 'sent'), ...uploads])
      setSkipped(left)
      queue(uploads)
    },
    retry(ids) {
      const uploads = all.filter(({ id }) => ids.includes(id))
      for (const { id } of uploads) change(id, { state: 'waiting', progress: 0, failure: null })
      queue(uploads)
    },
    clear() {
      setAll((before) => before.filter(isActive))
      setSkipped(0)
    },
  }
}
