/** Creates or changes an MCP server. Saving another URL, headers or allowed tools calls the server and pins what it offers. */
import { Checkbox, Fieldset, TagsInput, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import type { Agent } from '../../../api/types.ts'
import { FailureNote } from '../../../show/failure-note.tsx'
import { refusalOf, showRefusal } from '../../../show/refusal.ts'
import { AuthInput } from './auth-input.tsx'
import { EditDialog } from './edit-dialog.tsx'
import { PricePerCall } from './price-per-call.tsx'
import { asText, nameProblem } from './edit-http-tool.tsx'
import { ServerTrial } from './server-trial.tsx'
import { givenOf, problemOfRows, rowsOf } from './text-rows.ts'
import type { TextRow } from './text-rows.ts'
import { losesValues, priceGiven, priceProblem, priceValue } from './tool-data.ts'
import type { GivenTool, McpServer } from './tool-data.ts'
import { useSaveTools } from './use-save-tools.ts'

type Values = { name: string; url: string; headers: TextRow[]; all: boolean; allowed: string[]; price_usd: string }

/** Those that the server may refuse. */
const fields = ['name', 'url', 'headers', 'allowed', 'price_usd'] as const

const valuesOf = (server: McpServer | null): Values => ({
  name: server?.name ?? '',
  url: server?.url ?? '',
  headers: rowsOf(Object.keys(server?.headers ?? {})),
  all: (server?.allowed ?? null) === null,
  allowed: server?.allowed ?? [],
  price_usd: priceValue(server),
})

type EditProps = { agent: Agent; before: McpServer | null; onClose(): void; onDone(sentence: string): void }

export function EditMcpServer({ agent, before, onClose, onDone }: EditProps) {
  const form = useForm<Values>({ initialValues: valuesOf(before), validate: (values) => problemsOf(values, before) })
  const { values } = form
  const save = useSaveTools(agent, (saved, { after }) => {
    const server = saved.tools.find((tool) => tool.type === 'mcp' && tool.name === after?.name)
    const pinned = server?.type === 'mcp' ? server.pinned.length : 0
    onDone(`Saved ${after?.name} with ${pinned} pinned ${pinned === 1 ? 'tool' : 'tools'} in version ${saved.version}.`)
  })
  const submit = (given: Values): void =>
    save.mutate({ before, after: serverOf(given) }, { onError: (error) => showRefusal(form, refusalOf(error, fields)) })
  const focusFirst = (errors: object): void => form.getInputNode(Object.keys(errors)[0] ?? '')?.focus()
  const definition = (): GivenTool | null => {
    const { hasErrors, errors } = form.validate()
    if (!hasErrors) return serverOf(form.getValues())
    focusFirst(errors)
    return null
  }
  return (
    <EditDialog
      title={before ? `Edit ${before.name}` : 'Add MCP server'}
      verb={before ? 'Save' : 'Add server'}
      hasUnsavedInput={form.isDirty()}
      pending={save.isPending}
      onClose={onClose}
      onSubmit={form.onSubmit(submit, focusFirst)}
    >
      <TextInput
        label="Server name"
        description="Prefix of its tool names, as in shop__find_order: letters, digits, _ or -."
        placeholder="shop"
        maxLength={64}
        required
        data-autofocus
        autoComplete="off"
        {...form.getInputProps('name')}
      />
      <TextInput
        label="URL"
        description="A public https URL that serves MCP over streamable HTTP."
        placeholder="https://mcp.example.com/mcp"
        maxLength={2000}
        required
        inputMode="url"
        autoComplete="off"
        {...form.getInputProps('url')}
      />
      <AuthInput
        rows={{ headers: values.headers, secrets: null }}
        mustReenter={losesValues(before, values)}
        errors={{ headers: asText(form.errors['headers']), secrets: undefined }}
        headersHelp="Sent with each call, such as Authorization. Values are encrypted and never shown again."
        onChange={({ headers }) => {
          form.setFieldValue('headers', headers)
          form.clearFieldError('headers')
        }}
      />
      <Checkbox
        label="Allow all tools"
        description="Default. Tools that the server adds later are included once you approve them."
        {...form.getInputProps('all', { type: 'checkbox' })}
      />
      {values.all ? null : (
        <TagsInput
          label="Allowed tools"
          description="Tool names as the server lists them; press Enter after each. If empty, the agent uses no tools of this server."
          data={before?.pinned.map(({ name }) => name) ?? []}
          clearable
          clearButtonProps={{ 'aria-label': 'Clear allowed tools', 'aria-hidden': false, tabIndex: 0 }}
          {...form.getInputProps('allowed')}
        />
      )}
      <PricePerCall of="of one of its tools that the server answers" {...form.getInputProps('price_usd')} />
      <Fieldset legend="Test before saving">
        {/* The result is that of these fields: it is removed when one of them changes. */}
        <ServerTrial
          key={JSON.stringify([values.name, values.url, values.headers, values.all, values.allowed])}
          agent={agent}
          definition={definition}
        />
      </Fieldset>
      <Text size="sm" c="dimmed">
        Saving loads the server’s tools and pins their names, descriptions, and parameters, so that later changes on the server need your
        approval. This can take a few seconds.
      </Text>
      <FailureNote error={refusalOf(save.error, fields).rest} title="Could not save the server" />
    </EditDialog>
  )
}

/** Validated before; see `problemsOf`. */
const serverOf = ({ name, url, headers, all, allowed, price_usd: price }: Values): GivenTool => ({
  type: 'mcp',
  name: name.trim(),
  url: url.trim(),
  headers: givenOf(headers),
  allowed: all ? null : allowed,
  price_usd: priceGiven(price),
})

function problemsOf(values: Values, before: McpServer | null): Record<string, string> {
  const found = {
    name: nameProblem(values.name),
    url: values.url.trim() === '' ? 'Enter a URL.' : undefined,
    headers: problemOfRows(values.headers, losesValues(before, values)),
    price_usd: priceProblem(values.price_usd),
  }
  return Object.fromEntries(Object.entries(found).filter((one): one is [string, string] => one[1] !== undefined))
}
