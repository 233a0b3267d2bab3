/** The forms for a text and a URL, for a new document and for a replacement. */
import { Button, Group, Stack, TextInput, Textarea } from '@mantine/core'
import { useState } from 'react'
import type { FormEvent, ReactNode } from 'react'
import { ApiFailure } from '../../api/client.ts'
import { FailureNote } from '../../show/failure-note.tsx'

export type SourceBody = { title: string; text: string } | { url: string; title?: string }

type SourceFormProps = {
  verb: string
  pending: boolean
  error: unknown
  onSubmit(body: SourceBody): void
  /** Called when a field is changed. */
  onEdit(): void
  /** To begin with. */ title?: string
  url?: string
}

export function TextForm({ verb, pending, error, onSubmit, onEdit, title: given = '' }: SourceFormProps) {
  const [title, setTitle] = useState(given)
  const [text, setText] = useState('')
  const fields = { title: fieldError(error, 'title'), text: fieldError(error, 'text') }
  return (
    <Form onSubmit={() => onSubmit({ title, text })} onEdit={onEdit}>
      <TextInput
        label="Title"
        description="Shown in search results and citations."
        value={title}
        onChange={({ currentTarget }) => setTitle(currentTarget.value)}
        error={fields.title}
        required
        maxLength={500}
        data-autofocus
      />
      <Textarea
        label="Text"
        description="Markdown or plain text. Headings become section names."
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
        error={fields.text}
        required
        autosize
        minRows={6}
        maxRows={16}
      />
      <FailureNote error={fields.title || fields.text ? null : error} />
      <Submit verb={verb} pending={pending} />
    </Form>
  )
}

export function AddressForm({ verb, pending, error, onSubmit, onEdit, url: given = '' }: SourceFormProps) {
  const [url, setUrl] = useState(given)
  const [title, setTitle] = useState('')
  const fields = { url: fieldError(error, 'url'), title: fieldError(error, 'title') }
  return (
    <Form onSubmit={() => onSubmit({ url, ...(title === '' ? {} : { title }) })} onEdit={onEdit}>
      <TextInput
        label="URL"
        type="url"
        description="A web page or file on https. The server reads it once; replace the document to update it."
        placeholder="https://example.com/help/returns"
        value={url}
        onChange={({ currentTarget }) => setUrl(currentTarget.value)}
        error={fields.url}
        required
        maxLength={2000}
        data-autofocus
      />
      <TextInput
        label="Title"
        description="Leave empty to use the title of the page."
        value={title}
        onChange={({ currentTarget }) => setTitle(currentTarget.value)}
        error={fields.title}
        maxLength={500}
      />
      <FailureNote error={fields.title || fields.url ? null : error} />
      <Submit verb={verb} pending={pending} />
    </Form>
  )
}

function Form({ onSubmit, onEdit, children }: { onSubmit(): void; onEdit(): void; children: ReactNode }) {
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    onSubmit()
  }
  return (
    <form onSubmit={submit} onChange={onEdit}>
      <Stack>{children}</Stack>
    </form>
  )
}

const Submit = ({ verb, pending }: { verb: string; pending: boolean }) => (
  <Group justify="flex-end">
    <Button type="submit" loading={pending}>
      {verb}
    </Button>
  </Group>
)

/** The server's message if it starts with the field's name. */
function fieldError(error: unknown, field: string): string | undefined {
  return error instanceof ApiFailure && error.code === 'validation_error' && new RegExp(`^${field}\\b`).test(error.message)
    ? error.message
    : undefined
}
