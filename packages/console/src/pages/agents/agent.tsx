/**
 * One agent: everything that belongs to it, in tabs that are loaded when they are first opened. Unsaved settings and running uploads stay
 * while another tab is shown; leaving the agent asks first.
 */
import { Alert, Anchor, Button, Group, Menu, Tabs, Text } from '@mantine/core'
import { IconDots, IconTerminal2 } from '@tabler/icons-react'
import { Suspense, lazy, useEffect, useRef, useState } from 'react'
import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { ApiFailure, segment } from '../../api/client.ts'
import { useAgent, useOwners } from '../../api/lists.ts'
import { useMay } from '../../api/session.ts'
import type { Agent } from '../../api/types.ts'
import { Allowed, ReadOnlyUnless } from '../../show/allowed.tsx'
import { Empty } from '../../show/empty.tsx'
import { IdText } from '../../show/id-text.tsx'
import { Page } from '../../show/page.tsx'
import { Outline, Waiting } from '../../show/waiting.tsx'
import { EnabledBadge } from '../../show/enabled-badge.tsx'
import { EnabledSwitch } from './enabled-switch.tsx'

const SettingsTab = lazy(() => import('./editor/settings-tab.tsx').then(({ SettingsTab: tab }) => ({ default: tab })))
const KnowledgeTab = lazy(() => import('../knowledge/knowledge-tab.tsx').then(({ KnowledgeTab: tab }) => ({ default: tab })))
const ToolsTab = lazy(() => import('./tools/tools-tab.tsx').then(({ ToolsTab: tab }) => ({ default: tab })))
const LimitsTab = lazy(() => import('./limits/limits-tab.tsx').then(({ LimitsTab: tab }) => ({ default: tab })))
const KeysTab = lazy(() => import('../keys/keys-of.tsx').then(({ KeysOf: tab }) => ({ default: tab })))
const VersionsTab = lazy(() => import('./versions/versions-tab.tsx').then(({ VersionsTab: tab }) => ({ default: tab })))
const ActivityTab = lazy(() => import('./activity/activity-tab.tsx').then(({ ActivityTab: tab }) => ({ default: tab })))

const names = ['settings', 'knowledge', 'tools', 'limits', 'keys', 'versions', 'activity'] as const
type TabName = (typeof names)[number]
/** What a person has started in these is not lost by looking at another tab. */
const kept: readonly TabName[] = ['settings', 'knowledge']

const labels: Record<TabName, string> = {
  settings: 'Settings',
  knowledge: 'Knowledge',
  tools: 'Tools',
  limits: 'Limits',
  keys: 'Keys',
  versions: 'Versions',
  activity: 'Activity',
}

export function AgentPage({ id, tab }: { id: string; tab: string | undefined }) {
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
      <Page title="Agent" trail={[{ href: '/agents', label: 'Agents' }]}>
        <Waiting for={agent} what="the agent">
          {() => null}
        </Waiting>
      </Page>
    )
  return <Hub agent={agent.data} tab={names.find((name) => name === tab) ?? 'settings'} />
}

function AllAgents() {
  return (
    <Button component={Link} href="/agents" variant="default">
      View all agents
    </Button>
  )
}

function Hub({ agent, tab }: { agent: Agent; tab: TabName }) {
  const [, navigate] = useLocation()
  const [unsaved, setUnsaved] = useState(false)
  const [opened, setOpened] = useState<readonly TabName[]>([])
  if (!opened.includes(tab)) setOpened([...opened, tab])
  const strip = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // Not returned: newer browsers return a promise, which is no cleanup.
    strip.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [tab])
  const contents: Record<TabName, ReactNode> = {
    settings: <SettingsTab agent={agent} unsaved={unsaved} onUnsaved={setUnsaved} />,
    knowledge: <KnowledgeTab agent={agent} />,
    tools: (
      <ReadOnlyUnless permission="agents">
        <ToolsTab agent={agent} />
      </ReadOnlyUnless>
    ),
    limits: (
      <ReadOnlyUnless permission={['agents', 'billing']}>
        <LimitsTab agent={agent} />
      </ReadOnlyUnless>
    ),
    keys: <KeysTab agentId={agent.id} />,
    versions: <VersionsTab agent={agent} />,
    activity: <ActivityTab agent={agent} />,
  }
  return (
    <Page
      title={agent.name}
      trail={[{ href: '/agents', label: 'Agents' }]}
      lead={<Lead agent={agent} />}
      actions={<Actions agent={agent} />}
    >
      {agent.enabled ? null : (
        <Alert color="yellow" title="This agent is disabled" variant="light">
          New messages are rejected with <code>agent_disabled</code>. Enable the agent to accept them.
        </Alert>
      )}
      <Tabs
        value={tab}
        onChange={(value) => navigate(`/agents/${segment(agent.id)}${value === null || value === 'settings' ? '' : `/${value}`}`)}
        keepMountedMode="display-none"
      >
        <Tabs.List ref={strip} aria-label="Agent sections" className="tab-strip">
          {names.map((name) => (
            <Tabs.Tab key={name} value={name} {...asideOf(name, agent, unsaved)}>
              {labels[name]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {names.map((name) => (
          <Tabs.Panel key={name} value={name} pt="lg">
            {name === tab || (kept.includes(name) && opened.includes(name)) ? (
              <Suspense fallback={loading}>{contents[name]}</Suspense>
            ) : null}
          </Tabs.Panel>
        ))}
      </Tabs>
    </Page>
  )
}

const loading = <Outline label="Loading" />

/** What is beside the name of a tab: how many there are, or that something is not saved. */
function asideOf(name: TabName, { tools, spend_limits: limits }: Agent, unsaved: boolean): { rightSection?: ReactNode } {
  if (name === 'settings' && unsaved) return { rightSection: <span className="tab-note">unsaved</span> }
  const count = name === 'tools' ? tools.length : name === 'limits' ? limits.length : 0
  return count > 0 ? { rightSection: <span className="tab-note">{count}</span> } : {}
}

function Lead({ agent }: { agent: Agent }) {
  const owners = useOwners()
  const owner = owners.data?.find(({ id }) => id === agent.owner_id)
  return (
    <Group gap="xs">
      <Text span inherit className="as-written">
        Owner{' '}
        <Anchor component={Link} href={`/money/${agent.owner_id}`} inherit underline="always">
          {owner?.name ?? agent.owner_id}
        </Anchor>
      </Text>
      <span aria-hidden="true">·</span>
      <Text span inherit>
        Version {agent.version}
      </Text>
      <span aria-hidden="true">·</span>
      <IdText id={agent.id} />
    </Group>
  )
}

/** The enabled switch, the main action, and pages about this agent. */
function Actions({ agent }: { agent: Agent }) {
  const id = segment(agent.id)
  const mayRead = useMay('conversations')
  const pages = [
    { label: 'Conversations', href: `/conversations?agent_id=${id}` },
    { label: 'Traces', href: `/turns?agent_id=${id}` },
    { label: 'End users', href: `/end-users/${id}` },
    ...(mayRead ? [{ label: 'Feedback', href: `/feedback?agent_id=${id}` }] : []),
    { label: 'Usage', href: `/usage?agent_id=${id}` },
  ]
  return (
    <>
      <Allowed permission="agents">
        <EnabledSwitch agent={agent} />
      </Allowed>
      {useMay('agents') ? (
        <Button component={Link} href={`/playground/${id}`} leftSection={<IconTerminal2 size={16} aria-hidden="true" />}>
          Open playground
        </Button>
      ) : (
        <EnabledBadge enabled={agent.enabled} />
      )}
      <Menu position="bottom-end" shadow="md">
        <Menu.Target>
          <Button variant="default" px="xs" aria-label="More about this agent">
            <IconDots size={16} aria-hidden="true" />
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {pages.map(({ label, href }) => (
            <Menu.Item key={href} component={Link} href={href}>
              {label}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
    </>
  )
}
