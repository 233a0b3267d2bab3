/** Creates or changes an HTTP tool. */
import { Fieldset, NumberInput, Select, SimpleGrid, Switch, TextInput, Textarea } from '@mantine/core'
import { useForm } from '@mantine/form'
import type { Agent } from '../../../api/types.ts'
import { FailureNote } from '../../../show/failure-note.tsx'
import { refusalOf, showRefusal } from '../../../show/refusal.ts'
import { AuthInput } from './auth-input.tsx'
import { headersToSend } from './auth-presets.ts'
import { EditDialog } from './edit-dialog.tsx'
import { PricePerCall } from './price-per-call.tsx'
import { ParametersInput } from './parameters-input.tsx'
import { givenOf, problemOfRows, rowsOf } from './text-rows.ts'
import type { TextRow } from './text-rows.ts'
import { losesValues, priceGiven, priceProblem, priceValue, readObject } from './tool-data.ts'
import type { GivenTool, HttpTool } from './tool-data.ts'
import { Trial } from './trial.tsx'
import { useSaveTools } from './use-save-tools.ts'

type Values = {
  name: string
  description: string
  /** JSON. */
  parameters: string
  /** Whether all rows of the form are in `parameters`. */
  isComplete: boolean
  method: string
  url: string
  headers: TextRow[]
  secrets: TextRow[]
  timeout_seconds: number | string
  side_effects: boolean
  price_usd: string
}

/** Those that the server may refuse. */
const fields = ['name', 'description', 'parameters', 'method', 'url', 'headers', 'secrets', 'timeout_seconds', 'price_usd'] as const

const emptyParameters = { type: 'object', properties: {}, required: [], additionalProperties: false }

const valuesOf = (tool: HttpTool | null): Values => ({
  name: tool?.name ?? '',
  description: tool?.description ?? '',
  parameters: JSON.stringify(tool?.parameters ?? emptyParameters, undefined, 2),
  isComplete: true,
  method: tool?.method ?? 'GET',
  url: tool?.url ?? '',
  headers: rowsOf(Object.keys(tool?.headers ?? {})),
  secrets: rowsOf(Object.keys(tool?.secrets ?? {})),
  timeout_seconds: tool?.timeout_seconds ?? 10,
  side_effects: tool?.side_effects ?? true,
  price_usd: priceValue(tool),
})

type EditProps = { agent: Agent; before: HttpTool | null; onClose(): void; onDone(sentence: string): void }

export function EditHttpTool({ agent, before, onClose, onDone }: EditProps) {
  const form = useForm<Values>({ initialValues: valuesOf(before), validate: (values) => problemsOf(values, before) })
  const save = useSaveTools(agent, ({ version }, { after }) => onDone(`Saved ${after?.name} in version ${version}.`))
  const { values } = form
  const mustReenter = losesValues(before, values)
  const submit = (given: Values): void =>
    save.mutate({ before, after: toolOf(given, before) }, { onError: (error) => showRefusal(form, refusalOf(error, fields)) })
  return (
    <EditDialog
      title={before ? `Edit ${before.name}` : 'Add HTTP tool'}
      verb={before ? 'Save' : 'Add tool'}
      hasUnsavedInput={form.isDirty()}
      pending={save.isPending}
      onClose={onClose}
      onSubmit={form.onSubmit(submit, (errors) => form.getInputNode(Object.keys(errors)[0] ?? '')?.focus())}
    >
      <TextInput
        label="Tool name"
        description="The name that the model uses: 1 to 64 letters, digits, _ or -."
        placeholder="order_status"
        maxLength={64}
        required
        data-autofocus
        autoComplete="off"
        {...form.getInputProps('name')}
      />
      <Textarea
        label="Description"
        description="What the tool does and when to use it. The model decides based on this text."
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
          description="Arguments that are not in the URL are sent in the query string (GET, DELETE) or in a JSON body."
          {...form.getInputProps('method')}
        />
        <NumberInput
          label="Timeout (seconds)"
          description="Covers the whole call, from DNS lookup to the last byte: 1 to 60. Default 10."
          min={1}
          max={60}
          allowDecimal={false}
          clampBehavior="none"
          {...form.getInputProps('timeout_seconds')}
        />
      </SimpleGrid>
      <TextInput
        label="URL"
        description="A public https URL. {name} inserts an argument or a secret, percent-encoded; it is not allowed in the host."
        placeholder="https://shop.example.com/api/orders/{order}"
        maxLength={2000}
        required
        inputMode="url"
        autoComplete="off"
        {...form.getInputProps('url')}
      />
      <ParametersInput
        value={values.parameters}
        error={asText(form.errors['parameters'])}
        onChange={(parameters, isComplete) => {
          form.setFieldValue('parameters', parameters)
          form.setFieldValue('isComplete', isComplete)
          form.clearFieldError('parameters')
        }}
      />
      <AuthInput
        rows={values}
        mustReenter={mustReenter}
        errors={{ headers: asText(form.errors['headers']), secrets: asText(form.errors['secrets']) }}
        headersHelp="{name} in a value inserts the secret of that name, such as “Bearer {shop_key}”. Values are never shown again."
        onChange={({ headers, secrets }) => {
          form.setFieldValue('headers', headers)
          form.setFieldValue('secrets', secrets ?? [])
          form.clearFieldError('headers')
          form.clearFieldError('secrets')
        }}
      />
      <PricePerCall of="that the tool answers" {...form.getInputProps('price_usd')} />
      <Switch
        label="Has side effects"
        description="On (default): each call is made at most once, even after a crash. Off: the tool is read-only or honors the Idempotency-Key, so a call can be repeated after a crash."
        {...form.getInputProps('side_effects', { type: 'checkbox' })}
      />
      <Fieldset legend="Test before saving">
        <Trial
          agent={agent}
          tried={{ server: null, tool: values.name, sideEffects: values.side_effects, parameters: schemaOf(values) }}
          definition={() => (form.validate().hasErrors ? null : toolOf(form.getValues(), before))}
        />
      </Fieldset>
      <FailureNote error={refusalOf(save.error, fields).rest} title="Could not save the tool" />
    </EditDialog>
  )
}

/** An empty one while the text is not valid. */
function schemaOf({ parameters }: Pick<Values, 'parameters'>): Record<string, unknown> {
  const read = readObject(parameters)
  return 'value' in read ? read.value : {}
}

/** Validated before; see `problemsOf`. */
function toolOf(values: Values, before: HttpTool | null): GivenTool {
  const { parameters, isComplete: _, headers: __, secrets, timeout_seconds: timeout, name, url, price_usd: price, ...rest } = values
  return {
    type: 'http',
    ...rest,
    name: name.trim(),
    url: url.trim(),
    parameters: schemaOf({ parameters }),
    headers: givenOf(headersToSend(values, losesValues(before, values))),
    secrets: givenOf(secrets),
    timeout_seconds: Number(timeout),
    price_usd: priceGiven(price),
  }
}

function problemsOf(values: Values, before: HttpTool | null): Record<string, string> {
  const mustReenter = losesValues(before, values)
  const parameters = readObject(values.parameters)
  const seconds = Number(values.timeout_seconds)
  const found = {
    name: nameProblem(values.name),
    description: values.description.trim() === '' ? 'Enter a description. The model relies on it to use the tool.' : undefined,
    url: values.url.trim() === '' ? 'Enter a URL.' : undefined,
    parameters: 'problem' in parameters ? parameters.problem : values.isComplete ? undefined : 'Correct the marked parameters.',
    timeout_seconds: Number.isInteger(seconds) && seconds >= 1 && seconds <= 60 ? undefined : 'Enter a whole number from 1 to 60.',
    headers: problemOfRows(headersToSend(values, mustReenter), mustReenter),
    price_usd: priceProblem(values.price_usd),
    secrets: problemOfRows(values.secrets, mustReenter),
  }
  return Object.fromEntries(Object.entries(found).filter((one): one is [string, string] => one[1] !== undefined))
}

export const nameProblem = (name: string): string | undefined =>
  /^[\w-]{1,64}$/.test(name.trim()) ? undefined : 'Enter 1 to 64 letters, digits, _ or -.'

export const asText = (error: React.ReactNode): string | undefined => (typeof error === 'string' ? error : undefined)
