/** A new agent with the few fields that it needs. The other fields have their defaults and are in the editor. */
import { Button, Select, Stack, TextInput, Textarea } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useDebouncedValue } from '@mantine/hooks'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { Agent, Owner } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { shortMoney } from '../../show/money.tsx'
import { ModelInput } from '../../show/model-input.tsx'
import { refusalOf, relocated } from '../../show/refusal.ts'
import { firstModelOf } from '../providers/kinds.ts'
import { faultsOf, firstDraft, makeAgent, makeOwner, newOwner } from './agent-draft.ts'
import type { Draft } from './agent-draft.ts'
import { PriceFields } from './price-fields.tsx'
import type { Chosen } from './provider-step.tsx'
import { useModelPrice } from './use-model-price.ts'

// A pause while typing the name of a model.
const pauseMs = 400

/** Of the request that creates the owner first. */
const ownerName = 'owner.name'
const fields = [
  ownerName,
  'balance_usd',
  'owner_id',
  'name',
  'system_prompt',
  'model',
  'price.prompt_usd_per_million',
  'price.completion_usd_per_million',
] as const

type AgentFormProps = { chosen: Chosen; kind: string | undefined; owners: Owner[]; onCreated: (agent: Agent) => void }

export function AgentForm({ chosen, kind, owners, onCreated }: AgentFormProps) {
  const queries = useQueryClient()
  const isDemo = chosen.provider === 'demo'
  const form = useForm<Draft>({ initialValues: firstDraft(owners, isDemo ? 'demo' : (chosen.model ?? firstModelOf(kind ?? '') ?? '')) })
  const { values } = form
  const model = values.model.trim() === '' ? null : `${chosen.provider}/${values.model.trim()}`
  const [asked] = useDebouncedValue(model, pauseMs)
  const price = useModelPrice(asked)
  const create = useMutation({
    mutationFn: async (asksPrice: boolean) => {
      let ownerId = values.owner
      if (ownerId === newOwner) {
        const owner = await makeOwner(values).catch((error: unknown) => {
          throw relocated(error, (param) => (param === 'name' ? ownerName : param))
        })
        // Created once, even if creating the agent fails.
        queries.setQueryData<Owner[]>(['owners'], (known = []) => [owner, ...known])
        form.setFieldValue('owner', owner.id)
        ownerId = owner.id
      }
      return makeAgent(ownerId, model!, values, asksPrice)
    },
    onSuccess: (agent) => {
      // Immediately, so that the setup continues with it.
      queries.setQueryData<Agent[]>(['agents'], (known = []) => [agent, ...known])
      void queries.invalidateQueries({ queryKey: ['agents'] })
      void queries.invalidateQueries({ queryKey: ['owners'] })
      onCreated(agent)
    },
  })
  const refused = refusalOf(create.error, fields)
  // If the look-up fails, the server decides, and refuses if it needs a price.
  const asksPrice =
    !isDemo && ((price.data?.model === model && price.data.price === null) || (refused.field?.startsWith('price.') ?? false))
  const submit = (): void => {
    const faults = faultsOf(values, asksPrice)
    form.setErrors(faults)
    if (Object.keys(faults).length === 0) create.mutate(asksPrice)
    else document.querySelector<HTMLElement>(`[name="${Object.keys(faults)[0]}"]`)?.focus()
  }
  const input = (field: keyof Draft, wireName: (typeof fields)[number]) => ({
    name: field,
    autoComplete: 'off',
    ...form.getInputProps(field),
    error: form.errors[field] ?? refused.at(wireName),
  })
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <Stack>
        <Select
          label="Owner"
          description="The owner whose balance pays for the agent’s replies."
          data={[
            ...owners.map(({ id, name, available_usd: available }) => ({
              value: id,
              label: `${name} (${shortMoney(available)} available)`,
            })),
            { value: newOwner, label: 'Create new owner' },
          ]}
          value={values.owner}
          onChange={(owner) => owner && form.setFieldValue('owner', owner)}
          allowDeselect={false}
          error={refused.at('owner_id')}
        />
        {values.owner === newOwner ? (
          <>
            <TextInput label="Owner name" withAsterisk maxLength={200} {...input('ownerName', ownerName)} />
            <TextInput
              label="Opening balance (USD)"
              description="How much the agent can spend before you add credit. No payment is made."
              inputMode="decimal"
              {...input('balance', 'balance_usd')}
            />
          </>
        ) : null}
        <TextInput label="Agent name" withAsterisk maxLength={200} {...input('name', 'name')} />
        <Textarea
          label="System prompt"
          description="What the agent is, what it knows, and how it replies."
          autosize
          minRows={4}
          maxRows={16}
          {...input('systemPrompt', 'system_prompt')}
        />
        <ModelInput
          label="Model"
          description={isDemo ? 'Built in.' : 'Choose a model of the provider, or enter its ID.'}
          withAsterisk
          readOnly={isDemo}
          {...input('model', 'model')}
          provider={chosen.provider}
          value={values.model}
          onChange={(id) => form.setFieldValue('model', id)}
        />
        <PriceFields
          known={price.data?.model === model ? price.data.price : undefined}
          pending={price.isFetching || model !== asked}
          asks={asksPrice}
          prompt={input('promptPrice', 'price.prompt_usd_per_million')}
          completion={input('completionPrice', 'price.completion_usd_per_million')}
        />
        <FailureNote error={refused.rest} title="Could not create the agent" />
        <div>
          <Button type="submit" loading={create.isPending}>
            Create agent
          </Button>
        </div>
      </Stack>
    </form>
  )
}
