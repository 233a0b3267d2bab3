/** One webhook: its settings, a test, its signing secret, and its deliveries. */
import { ActionIcon, Alert, Button, Menu, Stack, Text } from '@mantine/core'
import { IconDots, IconEdit, IconHistory, IconKey, IconPlayerPause, IconPlayerPlay, IconTrash } from '@tabler/icons-react'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Suspense, lazy, useState } from 'react'
import { useLocation } from 'wouter'
import { call, segment } from '../../api/client.ts'
import { useAgents, useOwners } from '../../api/lists.ts'
import type { Webhook as Stored, WebhookTest } from '../../api/types.ts'
import { Allowed } from '../../show/allowed.tsx'
import { Confirm } from '../../show/confirm.tsx'
import { FailureNote } from '../../show/failure-note.tsx'
import { Figure, Figures } from '../../show/figure.tsx'
import { IdText } from '../../show/id-text.tsx'
import { Page } from '../../show/page.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { Deliveries } from './deliveries.tsx'
import { EnabledState, HealthText, writeEvents } from './facts.tsx'

const RotateSecret = lazy(() => import('./rotate-secret.tsx').then(({ RotateSecret: dialog }) => ({ default: dialog })))
const WebhookForm = lazy(() => import('./webhook-form.tsx').then(({ WebhookForm: form }) => ({ default: form })))
const Replay = lazy(() => import('./replay.tsx').then(({ Replay: dialog }) => ({ default: dialog })))

type Dialog = 'edit' | 'rotate' | 'replay' | 'delete'

export function WebhookPage({ id }: { id: string }) {
  const path = `/webhooks/${segment(id)}`
  const [dialog, setDialog] = useState<Dialog | null>(null)
  const close = (): void => setDialog(null)
  const queries = useQueryClient()
  const webhook = useQuery({ queryKey: ['webhooks', id], queryFn: ({ signal }) => call<Stored>(path, { signal }) })
  const test = useMutation({ mutationFn: () => call<WebhookTest>(`${path}/test`, { method: 'POST', body: {} }) })
  const enable = useMutation({
    meta: { done: 'Webhook saved' },
    mutationFn: (enabled: boolean) => call<Stored>(path, { method: 'PATCH', body: { enabled } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['webhooks'] }),
  })
  return (
    <Page
      title={webhook.data?.description || 'Webhook'}
      trail={[{ href: '/webhooks', label: 'Webhooks' }]}
      lead={<IdText id={id} />}
      actions={
        <Allowed permission="webhooks">
          <Button variant="default" loading={test.isPending} onClick={() => test.mutate()}>
            Send test event
          </Button>
          <WebhookMenu enabled={webhook.data?.enabled} onOpen={setDialog} onEnable={(enabled) => enable.mutate(enabled)} />
        </Allowed>
      }
    >
      <Waiting for={webhook} what="the webhook">
        {(found) => (
          <Stack>
            <Facts webhook={found} />
            {found.disabled_reason ? (
              <Alert color="red" title="The service disabled this webhook">
                {found.disabled_reason}. Pending deliveries wait until you enable it, and no new events are recorded. Fix the endpoint,
                enable the webhook, retry the delivery that failed, and replay what it missed.
              </Alert>
            ) : null}
            <div aria-live="polite">{test.data ? <TestResult test={test.data} /> : null}</div>
            <FailureNote error={test.error} title="Could not send the test event" />
            <FailureNote error={enable.error} title="Could not change the webhook" />
            <Suspense>
              {dialog === 'rotate' ? <RotateSecret id={id} onClose={close} /> : null}
              {dialog === 'edit' ? <WebhookForm webhook={found} onClose={close} /> : null}
              {dialog === 'replay' ? <Replay id={id} onClose={close} /> : null}
            </Suspense>
            {dialog === 'delete' ? <DeleteWebhook path={path} url={found.url} onClose={close} /> : null}
            <Deliveries id={id} />
          </Stack>
        )}
      </Waiting>
    </Page>
  )
}

type MenuProps = { enabled: boolean | undefined; onOpen: (dialog: Dialog) => void; onEnable: (enabled: boolean) => void }

function WebhookMenu({ enabled, onOpen, onEnable }: MenuProps) {
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="default" size={36} aria-label="More actions">
          <IconDots size={18} aria-hidden="true" />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<IconEdit size={16} />} onClick={() => onOpen('edit')}>
          Edit
        </Menu.Item>
        <Menu.Item leftSection={<IconKey size={16} />} onClick={() => onOpen('rotate')}>
          Rotate secret
        </Menu.Item>
        <Menu.Item leftSection={<IconHistory size={16} />} onClick={() => onOpen('replay')}>
          Replay events
        </Menu.Item>
        {enabled === undefined ? null : (
          <Menu.Item
            leftSection={enabled ? <IconPlayerPause size={16} /> : <IconPlayerPlay size={16} />}
            onClick={() => onEnable(!enabled)}
          >
            {enabled ? 'Disable' : 'Enable'}
          </Menu.Item>
        )}
        <Menu.Item color="red" leftSection={<IconTrash size={16} />} onClick={() => onOpen('delete')}>
          Delete
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

function Facts({ webhook }: { webhook: Stored }) {
  const owner = useOwners().data?.find(({ id }) => id === webhook.owner_id)
  const agent = useAgents().data?.find(({ id }) => id === webhook.agent_id)
  const scope = agent?.name ?? webhook.agent_id ?? owner?.name ?? webhook.owner_id
  return (
    <Figures>
      <Figure label="State">
        <EnabledState webhook={webhook} />
      </Figure>
      <Figure label="Deliveries">
        <HealthText id={webhook.id} />
      </Figure>
      <Figure label="URL">
        <Small>{webhook.url}</Small>
      </Figure>
      <Figure label="Events" note={webhook.include_messages ? 'with messages' : 'without messages'}>
        <Small>{writeEvents(webhook.events)}</Small>
      </Figure>
      <Figure label="Scope">
        <Small>{scope ?? 'Everything'}</Small>
      </Figure>
    </Figures>
  )
}

/** For texts among figures. */
const Small = ({ children }: { children: string }) => (
  <Text span display="block" size="sm" lh={1.45} fw={500} className="as-written">
    {children}
  </Text>
)

function TestResult({ test: { ok, status, error } }: { test: WebhookTest }) {
  return (
    <Alert color={ok ? 'teal' : 'red'} title={ok ? `The endpoint answered ${status}` : 'The test failed'}>
      {ok ? 'The test event was delivered.' : error}
    </Alert>
  )
}

function DeleteWebhook({ path, url, onClose }: { path: string; url: string; onClose: () => void }) {
  const queries = useQueryClient()
  const [, navigate] = useLocation()
  const remove = useMutation({
    meta: { done: 'Webhook deleted' },
    mutationFn: () => call<void>(path, { method: 'DELETE' }),
    onSuccess: () => {
      navigate('/webhooks')
      void queries.invalidateQueries({ queryKey: ['webhooks'], refetchType: 'none' })
    },
  })
  return (
    <Confirm
      opened
      title="Delete this webhook?"
      verb="Delete webhook"
      pending={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      Nothing more is sent to <span className="as-written">{url}</span>, not even what is pending. To stop for a while, disable it instead.
    </Confirm>
  )
}
