/** Tests a saved tool in a dialog. */
import { Modal } from '@mantine/core'
import type { Agent } from '../../../api/types.ts'
import { Trial } from './trial.tsx'
import type { Tried } from './trial.tsx'
import { useFocusBack } from './use-focus-back.ts'

export function TryTool({ agent, tried, onClose }: { agent: Agent; tried: Tried; onClose(): void }) {
  useFocusBack()
  return (
    <Modal opened onClose={onClose} title={`Test ${tried.tool}${tried.server === null ? '' : ` on ${tried.server}`}`} size="lg">
      <Trial agent={agent} tried={tried} />
    </Modal>
  )
}
