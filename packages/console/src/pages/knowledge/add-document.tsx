/** The ways to add a document: a file, a text, a URL. */
import { Button, Group, Modal, Stack } from '@mantine/core'
import { useState } from 'react'
import { DropZone } from './drop-zone.tsx'
import { usePutDocument } from './put-document.ts'
import { AddressForm, TextForm } from './source-form.tsx'
import { UploadList } from './upload-list.tsx'
import { useUploads } from './uploads.ts'

export function AddDocument({ agentId }: { agentId: string }) {
  const [adding, setAdding] = useState<'text' | 'address' | null>(null)
  const uploads = useUploads(agentId)
  const close = (): void => setAdding(null)
  return (
    <Stack gap="sm">
      <DropZone onFiles={uploads.add} />
      <Group gap="xs">
        <Button variant="default" onClick={() => setAdding('text')}>
          Add text
        </Button>
        <Button variant="default" onClick={() => setAdding('address')}>
          Add URL
        </Button>
      </Group>
      <UploadList uploads={uploads} />
      <Modal opened={adding === 'text'} onClose={close} title="Add text" size="lg" closeButtonProps={{ 'aria-label': 'Close' }}>
        <AddOne kind="text" agentId={agentId} onDone={close} />
      </Modal>
      <Modal opened={adding === 'address'} onClose={close} title="Add URL" size="lg" closeButtonProps={{ 'aria-label': 'Close' }}>
        <AddOne kind="address" agentId={agentId} onDone={close} />
      </Modal>
    </Stack>
  )
}

/** A new form each time the dialog is opened. */
function AddOne({ kind, agentId, onDone }: { kind: 'text' | 'address'; agentId: string; onDone(): void }) {
  const put = usePutDocument({ agentId, onPut: onDone })
  const Form = kind === 'text' ? TextForm : AddressForm
  const verb = kind === 'text' ? 'Add text' : 'Add URL'
  return <Form verb={verb} pending={put.isPending} error={put.error} onSubmit={(body) => put.mutate({ body })} />
}
