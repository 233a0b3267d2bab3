/** Adds a text or a URL to a knowledge base, or replaces a document with it. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { call, segment } from '../../api/client.ts'
import type { Document } from '../../api/types.ts'
import { sendFile } from './send-file.ts'
import type { SourceBody } from './source-form.tsx'

export type Put = { body: SourceBody } | { file: File; onProgress(percent: number): void }

/** `done`: what the toast says. */
type PutOptions = { agentId: string; documentId?: string; done: string; onPut(document: Document): void }

export function usePutDocument({ agentId, documentId, done, onPut }: PutOptions) {
  const queries = useQueryClient()
  const method = documentId === undefined ? 'POST' : 'PUT'
  const path = `/agents/${segment(agentId)}/documents${documentId === undefined ? '' : `/${segment(documentId)}`}`
  return useMutation({
    meta: { done },
    mutationFn: (put: Put) =>
      'file' in put
        ? sendFile<Document>(path, put.file, { method, onProgress: put.onProgress })
        : call<Document>(path, { method, body: put.body }),
    onSuccess: async (document) => {
      onPut(document)
      await queries.invalidateQueries({ queryKey: ['documents', agentId] })
    },
  })
}
