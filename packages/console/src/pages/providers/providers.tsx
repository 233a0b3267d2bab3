/** The providers of models: which exist, which agents use them, and their actions. A provider's key is never shown. */
import { Button, Modal } from '@mantine/core'
import { useState } from 'react'
import { useAgents, useNewestTurns, useProviders } from '../../api/lists.ts'
import { Empty } from '../../show/empty.tsx'
import { Page } from '../../show/page.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { DeleteProvider } from './delete-provider.tsx'
import { ProviderForm } from './provider-form.tsx'
import { ProviderModels } from './provider-models.tsx'
import { ProviderTable } from './provider-table.tsx'
import type { Doing } from './provider-table.tsx'
import { ProviderTest } from './provider-test.tsx'
import { agentsOn } from './used-by.ts'
import { Allowed } from '../../show/allowed.tsx'

export function Providers() {
  const providers = useProviders()
  const agents = useAgents()
  const turns = useNewestTurns()
  const [doing, setDoing] = useState<{ what: 'add' } | Doing | null>(null)
  const close = (): void => setDoing(null)
  const add = (
    <Allowed permission="provider_keys">
      <Button onClick={() => setDoing({ what: 'add' })}>Add provider</Button>
    </Allowed>
  )
  const cancel = (
    <Button variant="default" onClick={close}>
      Cancel
    </Button>
  )
  return (
    <Page
      title="Providers"
      lead="Providers run the language models that your agents use. The built-in demo model needs no provider."
      actions={add}
    >
      <Waiting for={providers} what="providers">
        {(found) =>
          found.length === 0 ? (
            <Empty title="No providers yet" action={add}>
              To use a language model, add OpenAI, Anthropic, Google, or your own server with its API key. The demo model needs no provider.
            </Empty>
          ) : (
            <ProviderTable providers={found} agents={agents.data} turns={turns.data?.data} onDo={setDoing} />
          )
        }
      </Waiting>
      <Modal opened={doing?.what === 'add'} onClose={close} title="Add provider">
        <ProviderForm onSaved={(provider) => setDoing({ what: 'test', provider })} cancel={cancel} />
      </Modal>
      <Modal opened={doing?.what === 'change'} onClose={close} title="Edit provider">
        {doing?.what === 'change' ? (
          <ProviderForm provider={doing.provider} onSaved={(provider) => setDoing({ what: 'test', provider })} cancel={cancel} />
        ) : null}
      </Modal>
      <Modal opened={doing?.what === 'test'} onClose={close} title={doing?.what === 'test' ? `Test ${doing.provider.name}` : ''}>
        {doing?.what === 'test' ? <ProviderTest provider={doing.provider} /> : null}
      </Modal>
      <Modal
        opened={doing?.what === 'models'}
        onClose={close}
        title={doing?.what === 'models' ? `Models of ${doing.provider.name}` : ''}
        size="lg"
      >
        {doing?.what === 'models' ? <ProviderModels provider={doing.provider} /> : null}
      </Modal>
      <DeleteProvider
        provider={doing?.what === 'delete' ? doing.provider : null}
        usedBy={doing?.what === 'delete' ? agentsOn(doing.provider.name, agents.data ?? []) : []}
        onClose={close}
      />
    </Page>
  )
}
