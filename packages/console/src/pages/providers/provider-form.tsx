/** Adds or changes a provider. The API key is sent to the server, which encrypts it. It is never shown again, not even in this form. */
import { Button, Group, PasswordInput, Select, Stack, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { call, segment } from '../../api/client.ts'
import type { Provider, ProviderKind } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { refusalOf } from '../../show/refusal.ts'
import { kinds } from './kinds.ts'
import { movesToAnotherServer } from './same-server.ts'

type Values = { kind: ProviderKind; name: string; baseUrl: string; apiKey: string }
type ProviderFormProps = { provider?: Provider | undefined; onSaved: (provider: Provider) => void; cancel?: ReactNode }

export function ProviderForm({ provider, onSaved, cancel }: ProviderFormProps) {
  const queries = useQueryClient()
  const form = useForm<Values>({
    initialValues: {
      kind: (provider?.kind ?? 'openai') as ProviderKind,
      name: provider?.name ?? 'openai',
      baseUrl: provider?.base_url ?? '',
      apiKey: '',
    },
    validate: {
      name: (name) =>
        /^[a-z0-9][a-z0-9-]{0,63}$/.test(name) ? null : 'Enter up to 64 lowercase letters, digits, and hyphens, such as my-gateway.',
      baseUrl: (text, { kind }) => {
        if (text.trim() === '')
          return kind === 'openai-compatible' ? 'Enter the base URL of your server, such as http://localhost:11434/v1.' : null
        return /^https?:\/\/\S+$/i.test(text.trim()) ? null : 'Enter a URL that starts with http:// or https://.'
      },
      apiKey: (text, { baseUrl }) => {
        if (text.trim() !== '') return null
        if (!provider) return 'Enter an API key. If the server requires none, enter any text.'
        if (!movesToAnotherServer(provider.base_url, baseUrl)) return null
        return 'Enter the API key for the new base URL. The current key is not sent to another server.'
      },
    },
  })
  const save = useMutation({
    meta: { done: 'Provider saved' },
    // The values are read here instead of being passed as variables, because variables are kept, including the key.
    mutationFn: () => saveProvider(provider, form.getValues()),
    onSuccess: (saved) => {
      form.setFieldValue('apiKey', '')
      void queries.invalidateQueries({ queryKey: ['providers'] })
      // The last list may be an error of the previous address or key.
      void queries.invalidateQueries({ queryKey: ['provider-models'] })
      onSaved(saved)
    },
  })
  const refused = refusalOf(save.error, ['name', 'kind', 'base_url', 'api_key'])
  const { kind, baseUrl } = form.values
  const keepsKey = provider !== undefined && !movesToAnotherServer(provider.base_url, baseUrl)
  const chooseKind = (chosen: string | null): void => {
    if (!chosen) return
    // A name that was not edited follows the kind.
    if (form.values.name === kind || form.values.name === '') form.setFieldValue('name', chosen)
    form.setFieldValue('kind', chosen as ProviderKind)
  }
  return (
    <form onSubmit={form.onSubmit(() => save.mutate())} noValidate autoComplete="off">
      <Stack>
        <Select
          label="Kind"
          description={provider ? 'The kind of a provider cannot be changed.' : undefined}
          data={kinds}
          value={kind}
          onChange={chooseKind}
          disabled={provider !== undefined}
          allowDeselect={false}
          error={refused.at('kind')}
        />
        <TextInput
          label="Name"
          description="The first part of a model name, such as openai in openai/gpt-5.4-mini."
          withAsterisk
          autoComplete="off"
          {...form.getInputProps('name')}
          error={form.errors['name'] ?? refused.at('name')}
        />
        <TextInput
          label="Base URL"
          description={
            kind === 'openai-compatible' ? 'The URL without /chat/completions.' : 'Leave empty to use the provider’s default URL.'
          }
          placeholder={kind === 'openai-compatible' ? 'http://localhost:11434/v1' : undefined}
          withAsterisk={kind === 'openai-compatible'}
          inputMode="url"
          autoComplete="off"
          {...form.getInputProps('baseUrl')}
          error={form.errors['baseUrl'] ?? refused.at('base_url')}
        />
        <PasswordInput
          label="Provider API key"
          description={
            keepsKey
              ? 'Leave empty to keep the current key, which is encrypted and cannot be shown.'
              : 'Encrypted on the server and never shown again.'
          }
          withAsterisk={!keepsKey}
          autoComplete="off"
          data-1p-ignore
          data-lpignore="true"
          visibilityToggleButtonProps={{ 'aria-label': 'Show API key' }}
          {...form.getInputProps('apiKey')}
          error={form.errors['apiKey'] ?? refused.at('api_key')}
        />
        <FailureNote error={refused.rest} title={provider ? 'Could not save the provider' : 'Could not add the provider'} />
        <Group justify="flex-end">
          {cancel}
          <Button type="submit" loading={save.isPending}>
            {provider ? 'Save' : 'Add provider'}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}

function saveProvider(provider: Provider | undefined, { kind, name, baseUrl, apiKey }: Values): Promise<Provider> {
  const address = baseUrl.trim() === '' ? null : baseUrl.trim()
  const key = apiKey.trim()
  if (!provider) return call<Provider>('/providers', { method: 'POST', body: { kind, name, base_url: address, api_key: key } })
  const body = {
    // Not sent if unchanged, because the name of a provider in use cannot be changed.
    ...(name === provider.name ? {} : { name }),
    ...(address === provider.base_url ? {} : { base_url: address }),
    ...(key === '' ? {} : { api_key: key }),
  }
  return call<Provider>(`/providers/${segment(provider.id)}`, { method: 'PATCH', body })
}
