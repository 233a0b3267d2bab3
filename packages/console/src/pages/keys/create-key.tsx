/** Creates a key and passes its secret on to be shown once. */
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
      // `onShown` closes this dialog. Nothing here may close the dialog that it opens.
      onSubmit={(form, onError) => create.mutate(form, { onError })}
      onClose={onClose}
    />
  )
}
