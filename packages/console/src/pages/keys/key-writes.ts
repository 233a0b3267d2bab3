/**
 * The requests that create, change, rotate and revoke a key. A secret is only passed to `onShown`. The mutations have no result, because
 * the query cache would keep it.
 */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { call, segment } from '../../api/client.ts'
import type { Key, ShownKey } from '../../api/types.ts'
import { useToast } from '../../show/toasts.tsx'
import { changeOf, creationOf, formOf } from './key-form.ts'
import type { KeyForm } from './key-form.ts'

type OnShown = (shown: ShownKey) => void

function useKeysChanged(): () => void {
  const queries = useQueryClient()
  return () => void queries.invalidateQueries({ queryKey: ['keys'] })
}

export function useCreateKey(agentId: string, onShown: OnShown) {
  const onSuccess = useKeysChanged()
  return useMutation({
    mutationFn: async (form: KeyForm): Promise<void> =>
      onShown(await call<ShownKey>(`/agents/${segment(agentId)}/keys`, { method: 'POST', body: creationOf(form) })),
    onSuccess,
  })
}

export function useChangeKey(key: Key) {
  const changed = useKeysChanged()
  const toast = useToast()
  const path = `/keys/${segment(key.id)}`
  const undo = useMutation({
    meta: { done: 'Change of the API key undone' },
    mutationFn: (body: object) => call<Key>(path, { method: 'PATCH', body }),
    onSuccess: changed,
    onError: (error) => toast(`Could not undo the change: ${error.message}`),
  })
  return useMutation({
    mutationFn: async (form: KeyForm): Promise<object | undefined> => {
      const change = changeOf(key, form)
      if (!change) return undefined
      const saved = await call<Key>(path, { method: 'PATCH', body: change })
      return changeOf(saved, formOf(key))
    },
    onSuccess: (back) => {
      changed()
      toast(back ? 'API key saved' : 'No changes to save', back && (() => undo.mutate(back)))
    },
  })
}

export function useRotateKey(key: Key, onShown: OnShown) {
  const onSuccess = useKeysChanged()
  return useMutation({
    mutationFn: async (graceSeconds: number): Promise<void> =>
      onShown(await call<ShownKey>(`/keys/${segment(key.id)}/rotate`, { method: 'POST', body: { grace_seconds: graceSeconds } })),
    onSuccess,
  })
}

export function useRevokeKey(key: Key) {
  const onSuccess = useKeysChanged()
  return useMutation({
    meta: { done: 'API key revoked' },
    mutationFn: () => call<void>(`/keys/${segment(key.id)}`, { method: 'DELETE' }),
    onSuccess,
  })
}
