/**
 * One agent: its settings, tools and versions, and links to what belongs to it. Unsaved settings stay while another tab is shown; leaving
 * the agent with unsaved settings asks first.
 */
import { Alert, Anchor, Button, Group, Loader, Tabs, Text } from '@mantine/core'
import { Suspense, lazy, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { ApiFailure } from '../../api/client.ts'
import { useAgent, useOwners } from '../../api/lists.ts'
import { allows, useMe } from '../../api/session.ts'
import type { Agent } from '../../api/types.ts'
import { Empty } from '../../show/empty.tsx'
import { IdText } from '../../show/id-text.tsx'
import { Page } from '../../show/page.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { AgentEditor } from './editor/agent-editor.tsx'
import { DeleteAgent } from './editor/delete-agent.tsx'
import { EnabledSwitch } from './editor/enabled-switch.tsx'
import { LeaveGuard } from './editor/leave-guard.tsx'
import { EnabledBadge } from './enabled-badge.tsx'
import { Allowed, ReadOnlyUnless } from '../../show/allowed.tsx'

const LimitsTab = lazy(() => import('./limits/limits-tab.tsx').then(({ LimitsTab: tab }) => ({ default: tab })))
const ToolsTab = lazy(() => import('./tools/tools-tab.tsx').then(({ ToolsTab: tab }) => ({ default: tab })))
const VersionsTab = lazy(() => import('./versions/versions-tab.tsx').then(({ VersionsTab: tab }) => ({ default: tab })))

const tabs = ['settings', 'tools', 'limits', 'versions']

export function AgentPage({ id, tab }: { id: string; tab: string | undefined }) {
  return <PresentAgent id={id} tab={tab !== undefined && tabs.includes(tab) ? tab : 'settings'} />
}

function PresentAgent({ id, tab }: { id: string; tab: string }) {
  const agent = useAgent(id)
  const isGone = agent.error instanceof ApiFailure && agent.error.status === 404
  if (isGone)
    return (
      <Page title="Agent not found">
        <Empty title="No agent has this ID" action={<AllAgents />}>
          The agent was deleted, or the link is incomplete.
        </Empty>
      </Page>
    )
  if (!agent.data)
    return (
      <Page title="Agent">
        <Waiting for={agent} what="the agent">
          {() => null}
        </Waiting>
      </Page>
    )
  return <AgentTabs agent={agent.data} tab={tab} />
}

function AllAgents() {
  return (
    <Button component={Link} href="/agents" variant="default">
      View all agents
    </Button>
  )
}

function AgentTabs({ agent, tab }: { agent: Agent; tab: string }) {
  const [, navigate] = useLocation()
  const [unsaved, setUnsaved] = useState(false)
  const { id } = agent
  return (
    <Page title={agent.name} trail={[{ href: '/agents', label: 'Agents' }]} lead={<Lead agent={agent} />} actions={<Ways id={id} />}>
      {agent.enabled ? null : (
        <Alert color="yellow" title="This agent is disabled" variant="outline">
          New messages are rejected with <code>agent_disabled</code>. Enable the agent in its settings.
        </Alert>
      )}
      <Tabs
        value={tab}
        onChange={(value) => navigate(`/agents/${id}${value === null || value === 'settings' ? '' : `/${value}`}`)}
        keepMountedMode="display-none"
      >
        <Tabs.List aria-label="Agent sections">
          <Tabs.Tab value="settings">Settings{unsaved ? ' (unsaved)' : ''}</Tabs.Tab>
          <Tabs.Tab value="tools">Tools ({agent.tools.length})</Tabs.Tab>
          <Tabs.Tab value="limits">Limits ({agent.spend_limits.length})</Tabs.Tab>
          <Tabs.Tab value="versions">Versions</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="settings" pt="lg">
          <ReadOnlyUnless permission="agents">
            <AgentEditor agent={agent} unsaved={unsaved} onUnsaved={setUnsaved} />
            <EnabledSwitch agent={agent} />
            <Allowed permission="agents">
              <DeleteAgent agent={agent} />
            </Allowed>
          </ReadOnlyUnless>
        </Tabs.Panel>
        <Tabs.Panel value="tools" pt="lg">
          <Suspense fallback={<Loader size="sm" aria-label="Loading" />}>
            {tab === 'tools' ? (
              <ReadOnlyUnless permission="agents">
                <ToolsTab agent={agent} />
              </ReadOnlyUnless>
            ) : null}
          </Suspense>
        </Tabs.Panel>
        <Tabs.Panel value="limits" pt="lg">
          <Suspense fallback={<Loader size="sm" aria-label="Loading" />}>
            {tab === 'limits' ? (
              <ReadOnlyUnless permission={['agents', 'billing']}>
                <LimitsTab agent={agent} />
              </ReadOnlyUnless>
            ) : null}
          </Suspense>
        </Tabs.Panel>
        <Tabs.Panel value="versions" pt="lg">
          <Suspense fallback={<Loader size="sm" aria-label="Loading" />}>
            {tab === 'versions' ? <VersionsTab agent={agent} /> : null}
          </Suspense>
        </Tabs.Panel>
      </Tabs>
      <LeaveGuard unsaved={unsaved} within={`/agents/${id}`} />
    </Page>
  )
}

function Lead({ agent }: { agent: Agent }) {
  const owners = useOwners()
  const owner = owners.data?.find(({ id }) => id === agent.owner_id)
  return (
    <Group gap="xs">
      <EnabledBadge enabled={agent.enabled} />
      <Text span inherit>
        Version {agent.version}
      </Text>
      <Text span inherit className="as-written">
        Owner{' '}
        <Anchor component={Link} href={`/money/${agent.owner_id}`} inherit underline="always">
          {owner?.name ?? agent.owner_id}
        </Anchor>
      </Text>
      <IdText id={agent.id} />
    </Group>
  )
}

/** Links to pages of what belongs to the agent. */
function Ways({ id }: { id: string }) {
  const ways = [
    { label: 'Playground', href: `/playground/${id}` },
    { label: 'Knowledge', href: `/knowledge/${id}` },
    { label: 'API keys', href: `/keys/${id}` },
    { label: 'Conversations', href: `/conversations?agent_id=${id}` },
    { label: 'Usage', href: `/usage?agent_id=${id}` },
  ]
  const me = useMe()
  const open = ways.filter(({ href }) => !href.startsWith('/playground') || allows(me, { permission: 'agents' }))
  return open.map(({ label, href }) => (
    <Button key={href} component={Link} href={href} variant="default" size="xs">
      {label}
    </Button>
  ))
}
