/** The ways to add a document: files, a folder, a text, a URL. Leaving while files are uploaded asks first. */
import { Button, Modal, Stack } from '@mantine/core'
import { useState } from 'react'
import { keepsInput } from '../../show/keeps-input.ts'
import { LeaveGuard } from '../../show/leave-guard.tsx'
import { DropZone } from './drop-zone.tsx'
import { usePutDocument } from './put-document.ts'
import { AddressForm, TextForm } from './source-form.tsx'
import { UploadList } from './upload-list.tsx'
import { useUploads } from './uploads.ts'

export function AddDocument({ agentId }: { agentId: string }) {
  const [adding, setAdding] = useState<'text' | 'address' | null>(null)
  const uploads = useUploads(agentId)
  const [isEdited, setEdited] = useState(false)
  const close = (): void => {
    setAdding(null)
    setEdited(false)
  }
  const edit = (): void => setEdited(true)
  return (
    <Stack component="section" aria-label="Add documents" gap="sm">
      <DropZone
        onGathered={uploads.add}
        others={
          <>
            <Button variant="default" onClick={() => setAdding('text')}>
              Add text
            </Button>
            <Button variant="default" onClick={() => setAdding('address')}>
              Add URL
            </Button>
          </>
        }
      />
      <UploadList uploads={uploads} />
      <LeaveGuard
        unsaved={uploads.active > 0}
        within={`/agents/${agentId}`}
        title="Leave during the upload?"
        verb="Leave"
        text="Files that are not uploaded yet are not listed anymore, and closing the page stops them."
      />
      <Modal opened={adding === 'text'} onClose={close} title="Add text" size="lg" {...keepsInput(isEdited)}>
        <AddOne kind="text" agentId={agentId} onEdit={edit} onDone={close} />
      </Modal>
      <Modal opened={adding === 'address'} onClose={close} title="Add URL" size="lg" {...keepsInput(isEdited)}>
        <AddOne kind="address" agentId={agentId} onEdit={edit} onDone={close} />
      </Modal>
    </Stack>
  )
}

type AddOneProps = { kind: 'text' | 'address'; agentId: string; onEdit(): void; onDone(): void }

/** A new form each time the dialog is opened. */
function AddOne({ kind, agentId, onEdit, onDone }: AddOneProps) {
  const put = usePutDocument({ agentId, done: 'Document added', onPut: onDone })
  const Form = kind === 'text' ? TextForm : AddressForm
  const verb = kind === 'text' ? 'Add text' : 'Add URL'
  return <Form verb={verb} pending={put.isPending} error={put.error} onEdit={onEdit} onSubmit={(body) => put.mutate({ body })} />
}
