/** Makes a key; its secret is handed on to be shown once. */
import type { ShownKey } from '../../api/types.ts'
import { KeyDialog } from './key-dialog.tsx'
import { newKey } from './key-form.ts'
import { useCreateKey } from './key-writes.ts'

export function CreateKey({ agentId, onShown, onClose }: { agentId: string; onShown: (shown: ShownKey) => void; onClose: () => void }) {
  const create = useCreateKey(agentId, onShown)
  return (
    <KeyDialog
      title="Create API key"
      verb="Create API key"
      initial={newKey}
      pending={create.isPending}
      error={create.error}
      // `onShown` closes this dialog; nothing here may close what it opens.
      onSubmit={(form, onError) => create.mutate(form, { onError })}
      onClose={onClose}
    />
  )
}
