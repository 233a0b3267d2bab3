/** Writes an HTTP tool: a new one, or what is changed of one. */
import { NumberInput, Select, SimpleGrid, Switch, TextInput, Textarea } from '@mantine/core'
import { useForm } from '@mantine/form'
import type { Agent } from '../../../api/types.ts'
import { FailureNote } from '../../../show/failure-note.tsx'
import { EditDialog } from './edit-dialog.tsx'
import { TextsInput, givenOf, problemOfRows, rowsOf } from './texts-input.tsx'
import type { TextRow } from './texts-input.tsx'
import { losesValues, readObject } from './tool-data.ts'
import type { GivenTool, HttpTool } from './tool-data.ts'
import { showToolFailure, toolFailure } from './tool-failure.ts'
import { useSaveTools } from './use-save-tools.ts'

type Values = {
  name: string
  description: string
  parameters: string
  method: string
  url: string
  headers: TextRow[]
  secrets: TextRow[]
  timeout_seconds: number | string
  side_effects: boolean
}

const emptyParameters = { type: 'object', properties: {}, required: [], additionalProperties: false }

const valuesOf = (tool: HttpTool | null): Values => ({
  name: tool?.name ?? '',
  description: tool?.description ?? '',
  parameters: JSON.stringify(tool?.parameters ?? emptyParameters, undefined, 2),
  method: tool?.method ?? 'GET',
  url: tool?.url ?? '',
  headers: rowsOf(Object.keys(tool?.headers ?? {})),
  secrets: rowsOf(Object.keys(tool?.secrets ?? {})),
  timeout_seconds: tool?.timeout_seconds ?? 10,
  side_effects: tool?.side_effects ?? true,
})

type EditProps = { agent: Agent; before: HttpTool | null; onClose(): void; onDone(sentence: string): void }

export function EditHttpTool({ agent, before, onClose, onDone }: EditProps) {
  const form = useForm<Values>({ initialValues: valuesOf(before), validate: (values) => problemsOf(values, before) })
  const save = useSaveTools(agent, ({ version }, { after }) => onDone(`${after?.name} is saved, as version ${version}.`))
  const { values } = form
  const again = losesValues(before, values)
  const submit = (given: Values): void =>
    save.mutate({ before, after: toolOf(given) }, { onError: (error) => showToolFailure(form, error) })
  return (
    <EditDialog
      title={before ? `Edit ${before.name}` : 'Add an HTTP tool'}
      verb={before ? 'Save the tool' : 'Add the tool'}
      written={form.isDirty()}
      pending={save.isPending}
      onClose={onClose}
      onSubmit={form.onSubmit(submit, (errors) => form.getInputNode(Object.keys(errors)[0] ?? '')?.focus())}
    >
      <TextInput
        label="Tool name"
        description="How the model calls it: 1 to 64 letters, digits, _ and -."
        placeholder="order_status"
        maxLength={64}
        required
        data-autofocus
        autoComplete="off"
        {...form.getInputProps('name')}
      />
      <Textarea
        label="Description"
        description="What it does and when to use it. The model decides by this."
        autosize
        minRows={2}
        maxRows={10}
        required
        {...form.getInputProps('description')}
      />
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <Select
          label="Method"
          data={['GET', 'POST', 'PUT', 'PATCH', 'DELETE']}
          allowDeselect={false}
          description="Arguments that are not in the URL go to the query of GET and DELETE, else into a JSON body."
          {...form.getInputProps('method')}
        />
        <NumberInput
          label="Timeout in seconds"
          description="From the look-up of the name to the last byte, 1 to 60. Default 10."
          min={1}
          max={60}
          allowDecimal={false}
          clampBehavior="none"
          {...form.getInputProps('timeout_seconds')}
        />
      </SimpleGrid>
      <TextInput
        label="URL"
        description="https, and public. {name} is an argument or a secret, percent-encoded as one component; never in the host."
        placeholder="https://shop.example.com/api/orders/{order}"
        maxLength={2000}
        required
        inputMode="url"
        autoComplete="off"
        {...form.getInputProps('url')}
      />
      <Textarea
        label="Parameters"
        description="JSON Schema of the arguments, an object. What properties does not name is refused."

        autosize
        minRows={6}
        maxRows={20}
        required
        spellCheck={false}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
        {...form.getInputProps('parameters')}
      />
      <TextsInput
        label="Headers"
        one="header"
        description="{name} in a value is a secret of that name, as in “Bearer {shop_key}”. Values are shown nowhere again."
        rows={values.headers}
        again={again}
        error={asText(form.errors['headers'])}
        onChange={(rows) => form.setFieldValue('headers', rows)}
      />
      <TextsInput
        label="Secrets"
        one="secret"
        description="Values for placeholders, of at least 4 characters. They are sealed, and blacked out where an answer repeats them."
        rows={values.secrets}
        again={again}
        error={asText(form.errors['secrets'])}
        onChange={(rows) => form.setFieldValue('secrets', rows)}
      />
      <Switch
        label="A call may change something"
        description="On, the default: a call is made at most once, whatever breaks. Off: it only reads, or honours the Idempotency-Key, and is made again after a crash."
        {...form.getInputProps('side_effects', { type: 'checkbox' })}
      />
      <FailureNote error={toolFailure(save.error, Object.keys(values)) ? null : save.error} title="Not saved" />
    </EditDialog>
  )
}

/** Checked before; see `problemsOf`. */
function toolOf({ parameters, headers, secrets, timeout_seconds: timeout, name, url, ...rest }: Values): GivenTool {
  const read = readObject(parameters)
  return {
    type: 'http',
    ...rest,
    name: name.trim(),
    url: url.trim(),
    parameters: 'value' in read ? read.value : {},
    headers: givenOf(headers),
    secrets: givenOf(secrets),
    timeout_seconds: Number(timeout),
  }
}

function problemsOf(values: Values, before: HttpTool | null): Record<string, string> {
  const again = losesValues(before, values)
  const parameters = readObject(values.parameters)
  const seconds = Number(values.timeout_seconds)
  const found = {
    name: nameProblem(values.name),
    description: values.description.trim() === '' ? 'Say what it does: the model knows nothing else of it.' : undefined,
    url: values.url.trim() === '' ? 'Give the address.' : undefined,
    parameters: 'problem' in parameters ? parameters.problem : undefined,
    timeout_seconds: Number.isInteger(seconds) && seconds >= 1 && seconds <= 60 ? undefined : 'A whole number from 1 to 60.',
    headers: problemOfRows(values.headers, again),
    secrets: problemOfRows(values.secrets, again),
  }
  return Object.fromEntries(Object.entries(found).filter((one): one is [string, string] => one[1] !== undefined))
}

export const nameProblem = (name: string): string | undefined =>
  /^[\w-]{1,64}$/.test(name.trim()) ? undefined : '1 to 64 letters, digits, _ and -.'

export const asText = (error: React.ReactNode): string | undefined => (typeof error === 'string' ? error : undefined)
