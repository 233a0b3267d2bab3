/** Step 1: an existing provider, a new one, or none, because the demo model needs none. */
import { Alert, Button, Divider, Group, Select, Stack, Text } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { useState } from 'react'
import type { Provider } from '../../api/types.ts'
import { Waiting } from '../../show/waiting.tsx'
import { labelOfKind } from '../providers/kinds.ts'
import { ProviderForm } from '../providers/provider-form.tsx'
import { ProviderTest } from '../providers/provider-test.tsx'

/** `provider` is a name. `model` has just passed a test. */
export type Chosen = { provider: string; model?: string | undefined }
type ProviderStepProps = { providers: UseQueryResult<Provider[], Error>; onChosen: (chosen: Chosen) => void }

export function ProviderStep({ providers, onChosen }: ProviderStepProps) {
  return (
    <Stack>
      <Text>Choose the provider that runs your model. Its API key is encrypted on the server and never shown again.</Text>
      <Waiting for={providers} what="providers">
        {(found) => <Choice providers={found} onChosen={onChosen} />}
      </Waiting>
      <Divider label="or" />
      <Group>
        <Button variant="default" onClick={() => onChosen({ provider: 'demo' })}>
          Use demo model
        </Button>
        <Text size="sm" c="dimmed" flex="1 1 240px">
          Built in; no provider needed. It is not a language model: it replies with passages from the agent’s knowledge base.
        </Text>
      </Group>
    </Stack>
  )
}

function Choice({ providers, onChosen }: { providers: Provider[]; onChosen: ProviderStepProps['onChosen'] }) {
  const [doing, setDoing] = useState<'choose' | 'add' | 'change'>(providers.length > 0 ? 'choose' : 'add')
  const [name, setName] = useState(providers[0]?.name ?? null)
  // By its ID, so that a tested model belongs to the provider as it was tested.
  const [tested, setTested] = useState<{ id: string; model: string | undefined } | null>(null)
  const [saved, setSaved] = useState(false)
  const provider = providers.find((one) => one.name === name)
  const take = (now: Provider): void => {
    setName(now.name)
    setSaved(true)
    setTested(null)
    setDoing('choose')
  }
  const back = (
    <Button variant="default" onClick={() => setDoing('choose')}>
      Cancel
    </Button>
  )
  if (doing === 'add') return <ProviderForm onSaved={take} cancel={providers.length > 0 ? back : undefined} />
  if (doing === 'change' && provider) return <ProviderForm provider={provider} onSaved={take} cancel={back} />
  return (
    <Stack>
      <Select
        label="Provider"
        data={providers.map((one) => ({ value: one.name, label: `${one.name} (${labelOfKind(one.kind)})` }))}
        value={name}
        onChange={setName}
        allowDeselect={false}
      />
      {provider ? (
        <>
          <ProviderTest
            key={`${provider.id} ${provider.updated_at}`}
            provider={provider}
            focused={saved}
            onTested={({ ok, model }) => setTested(ok ? { id: provider.id, model } : null)}
          />
          {tested?.id === provider.id ? null : (
            <Alert color="blue" title="Test the provider before you continue">
              A test finds a wrong API key or base URL now instead of with the first message.
            </Alert>
          )}
          <Group>
            <Button onClick={() => onChosen({ provider: provider.name, model: tested?.id === provider.id ? tested.model : undefined })}>
              Continue to agent
            </Button>
            <Button variant="default" onClick={() => setDoing('change')}>
              Edit provider
            </Button>
            <Button variant="default" onClick={() => setDoing('add')}>
              Add another provider
            </Button>
          </Group>
        </>
      ) : null}
    </Stack>
  )
}
