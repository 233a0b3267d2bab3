/** Changes the name, permission and rate limit of a key. Its secret stays. */
import type { Key } from '../../api/types.ts'
import { KeyDialog } from './key-dialog.tsx'
import { calledOf, formOf } from './key-form.ts'
import { useChangeKey } from './key-writes.ts'

export function ChangeKey({ apiKey, onClose }: { apiKey: Key; onClose: () => void }) {
  const change = useChangeKey(apiKey)
  return (
    <KeyDialog
      title={`Edit ${calledOf(apiKey)}`}
      verb="Save"
      initial={formOf(apiKey)}
      pending={change.isPending}
      error={change.error}
      onSubmit={(form, onError) => change.mutate(form, { onSuccess: onClose, onError })}
      onClose={onClose}
    />
  )
}
