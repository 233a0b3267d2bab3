/** Replaces the content of a document. The previous content can be found until the new one is ready. */
import { Button, FileInput, Group, Modal, Progress, Stack, Tabs, Text } from '@mantine/core'
import { useState } from 'react'
import type { Document } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { keepsInput } from '../../show/keeps-input.ts'
import { refusalOf } from '../../show/refusal.ts'
import { takenFiles } from './dropped-files.ts'
import { usePutDocument } from './put-document.ts'
import { AddressForm, TextForm } from './source-form.tsx'
import type { SourceBody } from './source-form.tsx'

export function ReplaceDocument({ document, onClose }: { document: Document | null; onClose(): void }) {
  const [isEdited, setEdited] = useState(false)
  const close = (): void => {
    setEdited(false)
    onClose()
  }
  return (
    <Modal opened={document !== null} onClose={close} title="Replace document" size="lg" {...keepsInput(isEdited)}>
      {document ? <Content document={document} onEdit={() => setEdited(true)} onDone={close} /> : null}
    </Modal>
  )
}

const tabOf = { file: 'file', text: 'text', url: 'address' } as const

function Content({ document, onEdit, onDone }: { document: Document; onEdit(): void; onDone(): void }) {
  const put = usePutDocument({ agentId: document.agent_id, documentId: document.id, done: 'Document replaced', onPut: onDone })
  const verb = 'Replace document'
  const { isPending: pending, error } = put
  const form = { verb, pending, error, onEdit, onSubmit: (body: SourceBody) => put.mutate({ body }) }
  return (
    <Stack>
      <Text size="sm" className="as-written">
        {document.title}
      </Text>
      <Text size="sm">
        The current content stays searchable until the new content is ready. If the new content cannot be read, the current content is kept.
      </Text>
      <Tabs defaultValue={tabOf[document.source]} onChange={() => put.reset()} keepMounted={false}>
        <Tabs.List mb="md">
          <Tabs.Tab value="file">File</Tabs.Tab>
          <Tabs.Tab value="text">Text</Tabs.Tab>
          <Tabs.Tab value="address">URL</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="file">
          <FileForm verb={verb} pending={pending} error={error} onFile={(file, onProgress) => put.mutate({ file, onProgress })} />
        </Tabs.Panel>
        <Tabs.Panel value="text">
          <TextForm {...form} title={document.title} />
        </Tabs.Panel>
        <Tabs.Panel value="address">
          <AddressForm {...form} url={document.url ?? ''} />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  )
}

type FileFormProps = { verb: string; pending: boolean; error: unknown; onFile(file: File, onProgress: (percent: number) => void): void }

function FileForm({ verb, pending, error, onFile }: FileFormProps) {
  const [file, setFile] = useState<File | null>(null)
  const [progress, setProgress] = useState(0)
  const refused = refusalOf(error, ['file'])
  return (
    <Stack>
      <FileInput
        label="File"
        description="md, txt, html, pdf, or docx, up to 20 MiB"
        placeholder="Choose a file"
        accept={takenFiles}
        value={file}
        onChange={setFile}
        error={refused.at('file')}
        clearable
        clearButtonProps={{ 'aria-label': 'Remove file' }}
      />
      {pending ? <Progress value={progress} aria-label="Upload progress" /> : null}
      <FailureNote error={refused.rest} />
      <Group justify="flex-end">
        <Button disabled={!file} loading={pending} onClick={() => file && onFile(file, setProgress)}>
          {verb}
        </Button>
      </Group>
    </Stack>
  )
}
