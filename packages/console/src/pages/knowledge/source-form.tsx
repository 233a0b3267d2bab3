/** The forms for a text and a URL, for a new document and for a replacement. */
import { Button, Group, Stack, TextInput, Textarea } from '@mantine/core'
import { useState } from 'react'
import type { FormEvent, ReactNode } from 'react'
import { FailureNote } from '../../show/failure-note.tsx'
import { refusalOf } from '../../show/refusal.ts'

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
  const refused = refusalOf(error, ['title', 'text'])
  return (
    <Form onSubmit={() => onSubmit({ title, text })} onEdit={onEdit}>
      <TextInput
        label="Title"
        description="Shown in search results and citations."
        value={title}
        onChange={({ currentTarget }) => setTitle(currentTarget.value)}
        error={refused.at('title')}
        required
        maxLength={500}
        data-autofocus
      />
      <Textarea
        label="Text"
        description="Markdown or plain text. Headings become section names."
        value={text}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
        error={refused.at('text')}
        required
        autosize
        minRows={6}
        maxRows={16}
      />
      <FailureNote error={refused.rest} />
      <Submit verb={verb} pending={pending} />
    </Form>
  )
}

export function AddressForm({ verb, pending, error, onSubmit, onEdit, url: given = '' }: SourceFormProps) {
  const [url, setUrl] = useState(given)
  const [title, setTitle] = useState('')
  const refused = refusalOf(error, ['url', 'title'])
  return (
    <Form onSubmit={() => onSubmit({ url, ...(title === '' ? {} : { title }) })} onEdit={onEdit}>
      <TextInput
        label="URL"
        type="url"
        description="A web page or file on https. The server reads it once; replace the document to update it."
        placeholder="https://example.com/help/returns"
        value={url}
        onChange={({ currentTarget }) => setUrl(currentTarget.value)}
        error={refused.at('url')}
        required
        maxLength={2000}
        data-autofocus
      />
      <TextInput
        label="Title"
        description="Leave empty to use the title of the page."
        value={title}
        onChange={({ currentTarget }) => setTitle(currentTarget.value)}
        error={refused.at('title')}
        maxLength={500}
      />
      <FailureNote error={refused.rest} />
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
