/** Uploads to a knowledge base, a few at a time, each with its progress and failure. They continue when the page is left. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { segment } from '../../api/client.ts'
import { randomId } from '../../api/random-id.ts'
import type { Document } from '../../api/types.ts'
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

export type Uploads = { all: Upload[]; add(files: readonly File[]): void; retry(id: string): void; clear(): void }

export function useUploads(agentId: string): Uploads {
  const queries = useQueryClient()
  const [all, setAll] = useState<Upload[]>([])
  const line = useRef<Pick<Upload, 'id' | 'file'>[]>([])
  const underWay = useRef(0)

  const change = (id: string, changed: Partial<Upload>): void =>
    setAll((before) => before.map((upload) => (upload.id === id ? { ...upload, ...changed } : upload)))

  const send = useMutation({
    mutationFn: ({ id, file }: Pick<Upload, 'id' | 'file'>) => {
      change(id, { state: 'sending' })
      return sendFile<Document>(`/agents/${segment(agentId)}/documents`, file, {
        method: 'POST',
        onProgress: (progress) => change(id, { progress }),
      })
    },
    onSuccess: async (_, { id }) => {
      change(id, { state: 'sent', progress: 100 })
      await queries.invalidateQueries({ queryKey: ['documents', agentId] })
    },
    onError: (failure, { id }) => change(id, { state: 'failed', failure }),
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
    add(files) {
      const uploads = files.map((file): Upload => ({ id: randomId(), file, state: 'waiting', progress: 0, failure: null }))
      setAll((before) => [...before.filter(({ state }) => state !== 'sent'), ...uploads])
      queue(uploads)
    },
    retry(id) {
      const upload = all.find((one) => one.id === id)
      if (!upload) return
      change(id, { state: 'waiting', progress: 0, failure: null })
      queue([upload])
    },
    clear: () => setAll((before) => before.filter(({ state }) => state === 'waiting' || state === 'sending')),
  }
}
