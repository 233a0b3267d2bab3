/**
 * The playground: the operator talks to an agent as an end user would, through the real pipeline, including billing; or tries a version
 * or a draft of it, without storing anything. The address has the conversation and the versions.
 */
import { ActionIcon, Alert, Anchor, Box, Button, Tooltip } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { IconColumns2, IconLayoutSidebarRight } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { call, segment } from '../../api/client.ts'
import { maxPage, useAgent, useAgents } from '../../api/lists.ts'
import { useMay } from '../../api/session.ts'
import type { Agent, AgentVersion, Page } from '../../api/types.ts'
import { AgentSelect } from '../../show/agent-select.tsx'
import { Empty } from '../../show/empty.tsx'
import { PageTitle } from '../../show/page.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { Chat } from './chat.tsx'
import { ConversationChoice } from './conversation-choice.tsx'
import { DifferencesButton } from './differences-button.tsx'
import classes from './playground.module.css'
import { SettingBar } from './setting-bar.tsx'
import { isReal, readVersion } from './settings.ts'
import type { Overrides, Setting } from './settings.ts'
import { useKept } from './use-kept.ts'

/** The end user if none is named, as on the server. */
const usualUser = 'playground'

export function Playground({ agentId }: { agentId: string | undefined }) {
  const agents = useAgents()
  if (agentId !== undefined) return <OfAgent key={agentId} agentId={agentId} />
  return (
    <Frame agentId={null}>
      {agents.data?.length === 0 ? (
        <Empty title="No agents yet">
          <Anchor component={Link} href="/agents/new" underline="always">
            Create an agent
          </Anchor>
          , then chat with it here.
        </Empty>
      ) : (
        <Empty title="Choose an agent">
          Your conversation with the agent appears here. Each reply shows its steps and its cost, and is charged to the agent’s owner.
        </Empty>
      )}
    </Frame>
  )
}

function Frame({ agentId, tools, children }: { agentId: string | null; tools?: ReactNode; children: ReactNode }) {
  const [, navigate] = useLocation()
  const isPhone = useMediaQuery('(max-width: 47.99em)') ?? false
  return (
    <div className={classes['root']}>
      <div className={classes['toolbar']}>
        <PageTitle title="Playground" hidden={isPhone} />
        <AgentSelect compact value={agentId} onChange={(id) => navigate(id === null ? '/playground' : `/playground/${segment(id)}`)} />
        {tools}
      </div>
      {children}
    </div>
  )
}

/** What is in the address, and how it changes. */
function useAddress() {
  const [search, setSearch] = useSearchParams()
  const change = (changes: Record<string, string | null>): void =>
    setSearch(
      (before) => {
        const next = new URLSearchParams(before)
        for (const [name, value] of Object.entries(changes)) {
          if (value === null) next.delete(name)
          else next.set(name, value)
        }
        return next
      },
      { replace: true },
    )
  return { search, change }
}

/** Newest first, as many as one page has. */
const useVersions = (agentId: string, enabled: boolean) =>
  useQuery({
    queryKey: ['agents', agentId, 'versions', 'newest'],
    queryFn: ({ signal }) => call<Page<AgentVersion>>(`/agents/${segment(agentId)}/versions`, { query: { limit: maxPage }, signal }),
    enabled,
  })

const versionNames = ['version', 'compare'] as const
const currentWord = 'current'

function OfAgent({ agentId }: { agentId: string }) {
  const { search, change } = useAddress()
  const agent = useAgent(agentId)
  const mayAgents = useMay('agents', true)
  const mayPreview = useMay('conversations', true) && mayAgents
  const versions = useVersions(agentId, mayPreview)
  const [drafts, setDrafts] = useKept<readonly Overrides[]>(`settings ${agentId}`, [{}, {}])
  const isSmall = useMediaQuery('(max-width: 61.99em)', undefined, { getInitialValueInEffect: false }) ?? false
  const [details, setDetails] = useState(!isSmall && !search.has('compare'))
  const user = search.get('user') || usualUser
  const comparing = mayPreview && search.has('compare')
  const settings = versionNames.slice(0, comparing ? 2 : 1).map((name, index): Setting => {
    const version = mayPreview ? readVersion(search.get(name)) : null
    return { version, overrides: drafts[index] ?? {} }
  })
  const setSetting = (index: number, { version, overrides }: Setting): void => {
    setDrafts(drafts.map((one, at) => (at === index ? overrides : one)))
    change({ [versionNames[index]!]: version === null ? (index === 0 ? null : currentWord) : String(version) })
  }
  const listed = versions.data?.data ?? []
  const tools = (read: Agent): ReactNode => (
    <>
      {mayPreview && !comparing ? (
        <SettingBar
          agent={read}
          versions={listed}
          setting={settings[0]!}
          isStored={isReal(settings[0]!)}
          onChange={(setting) => setSetting(0, setting)}
        />
      ) : null}
      {comparing ? <DifferencesButton agent={read} versions={listed} a={settings[0]!} b={settings[1]!} /> : null}
      <Box flex={1} visibleFrom="sm" />
      <ConversationChoice
        agentId={agentId}
        user={user}
        onChoose={(chosen) => change({ user: chosen === usualUser ? null : chosen, message: null })}
      />
      {mayPreview ? (
        <Button
          variant={comparing ? 'light' : 'default'}
          aria-pressed={comparing}
          leftSection={<IconColumns2 size={15} aria-hidden="true" />}
          onClick={() => {
            change({ compare: comparing ? null : currentWord })
            setDetails(comparing && !isSmall)
          }}
        >
          Compare
        </Button>
      ) : null}
      <Tooltip label={details ? 'Hide details' : 'Show details'}>
        <ActionIcon
          variant={details ? 'light' : 'default'}
          size={36}
          aria-label="Details"
          aria-pressed={details}
          onClick={() => setDetails(!details)}
        >
          <IconLayoutSidebarRight size={16} aria-hidden="true" />
        </ActionIcon>
      </Tooltip>
    </>
  )
  return (
    <Frame agentId={agentId} tools={agent.data ? tools(agent.data) : null}>
      <Waiting for={agent} what="the agent">
        {(read) => (
          <>
            {read.enabled ? null : <Disabled agent={read} />}
            <Chat
              key={user}
              agent={read}
              externalUserId={user}
              versions={listed}
              settings={settings}
              onSetting={setSetting}
              draft={search.get('message') ?? ''}
              details={details}
              onDetails={setDetails}
            />
          </>
        )}
      </Waiting>
    </Frame>
  )
}

const Disabled = ({ agent }: { agent: Agent }) => (
  <Alert color="yellow" variant="light" title="This agent is disabled" radius={0}>
    It rejects all messages, including those from the playground, but not previews of a version or a draft.{' '}
    <Anchor component={Link} href={`/agents/${segment(agent.id)}`} inherit underline="always">
      Open agent
    </Anchor>{' '}
    to enable it.
  </Alert>
)
