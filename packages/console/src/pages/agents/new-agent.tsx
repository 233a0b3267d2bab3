/**
 * Creates an agent. Default values are not sent, so that the server's defaults apply. Tools and knowledge are added afterwards on the
 * agent's pages.
 */
import { Anchor, Button, Group, Stack, Text } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { Link, useLocation } from 'wouter'
import { call } from '../../api/client.ts'
import { useOwners } from '../../api/lists.ts'
import type { Agent } from '../../api/types.ts'
import { FailureNote } from '../../show/failure-note.tsx'
import { OwnerSelect } from '../../show/owner-select.tsx'
import { Page } from '../../show/page.tsx'
import { refusalOf, showRefusal } from '../../show/refusal.ts'
import { AgentFields } from './editor/agent-fields.tsx'
import { changesOf, fieldPaths, newAgentBody, newValues } from './editor/agent-values.ts'
import type { AgentForm, AgentValues } from './editor/agent-values.ts'
import { LeaveGuard } from '../../show/leave-guard.tsx'
import { problemsOf } from './editor/problems.ts'

export function NewAgent() {
  const [, navigate] = useLocation()
  const queries = useQueryClient()
  const form = useForm<AgentValues>({ initialValues: newValues, validate: (values) => problemsOf(values, 'new') })
  const create = useMutation({
    meta: { done: 'Agent created' },
    mutationFn: (values: AgentValues) => call<Agent>('/agents', { method: 'POST', body: newAgentBody(values) }),
    onSuccess: (agent) => {
      queries.setQueryData(['agents', agent.id], agent)
      void queries.invalidateQueries({ queryKey: ['agents'], exact: true })
      navigate(`/agents/${agent.id}`, { replace: true })
    },
    onError: (error) => showRefusal(form, refusalOf(error, fieldPaths)),
  })
  return (
    <Page
      title="Create agent"
      trail={[{ href: '/agents', label: 'Agents' }]}
      lead="Enter a name, an owner, and a model; the defaults suit most agents. You can add tools, documents, and API keys afterwards."
    >
      <form
        noValidate
        onSubmit={form.onSubmit(
          (values) => create.mutate(values),
          (errors) => form.getInputNode(Object.keys(errors)[0] ?? '')?.focus(),
        )}
      >
        <Stack gap="lg">
          <AgentFields form={form} owner={<OwnerField form={form} />} />
          <FailureNote error={refusalOf(create.error, fieldPaths).rest} title="Could not create the agent" />
          <Group justify="flex-end">
            <Button component={Link} href="/agents" variant="default">
              Cancel
            </Button>
            <Button type="submit" loading={create.isPending}>
              Create agent
            </Button>
          </Group>
        </Stack>
      </form>
      <LeaveGuard unsaved={Object.keys(changesOf(newValues, form.values)).length > 0} within="/agents/new" />
    </Page>
  )
}

function OwnerField({ form }: { form: AgentForm }) {
  const owners = useOwners()
  const only = owners.data?.length === 1 ? owners.data[0]!.id : null
  const { owner_id: chosen } = form.values
  useEffect(() => {
    if (only !== null && chosen === null) form.setFieldValue('owner_id', only)
  }, [only, chosen, form])
  return (
    <div>
      <OwnerSelect value={chosen} onChange={(id) => form.setFieldValue('owner_id', id)} error={form.errors['owner_id']} />
      <Text size="xs" c="dimmed" mt={4}>
        The owner whose balance pays for the agent’s replies. It cannot be changed later.
        {owners.data?.length === 0 ? (
          <>
            {' '}
            There are no owners yet:{' '}
            <Anchor component={Link} href="/money" inherit underline="always">
              create an owner
            </Anchor>
            .
          </>
        ) : null}
      </Text>
    </div>
  )
}
