/** What the command palette finds: pages, agents, owners, API keys, IDs, end users, and actions. */
import { useMantineColorScheme, useComputedColorScheme } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import {
  IconBook2,
  IconKey,
  IconKeyboard,
  IconListTree,
  IconLogout,
  IconMessages,
  IconMoon,
  IconPlus,
  IconRobot,
  IconSearch,
  IconSun,
  IconTerminal2,
  IconUser,
  IconWallet,
} from '@tabler/icons-react'
import type { Icon } from '@tabler/icons-react'
import { useQueries, useQuery } from '@tanstack/react-query'
import { useLocation } from 'wouter'
import { call, segment } from './api/client.ts'
import { keysQuery, useAgents, useOwners } from './api/lists.ts'
import { allows, useMay, useMe } from './api/session.ts'
import type { Agent, ListedConversation, Me, Owner, Page } from './api/types.ts'
import { groups } from './navigation.ts'

export type Entry = { id: string; group: string; label: string; hint?: string; icon: Icon; run: () => void }

// Reading the keys takes a request for each agent.
const maxAgentsForKeys = 30
const maxShown = 40

type Actions = { onShortcuts: () => void; onSignOut: () => void }

/** The entries that match, best first within each group. Without a text: pages and actions. */
export function useEntries(text: string, actions: Actions): Entry[] {
  const [, navigate] = useLocation()
  const me = useMe()
  const agents = useAgents().data ?? []
  const owners = useOwners().data ?? []
  const general = [...pageEntries(navigate, me), ...useActions(navigate, actions)]
  const keys = useKeyEntries(agents, navigate)
  const ofUser = useUserConversations(text.trim(), agents, navigate)
  const mayRead = useMay('conversations')
  const wanted = text.trim()
  if (wanted === '') return general
  const all = [...general, ...agentEntries(agents, navigate), ...ownerEntries(owners, navigate), ...keys]
  const found = [...idEntries(wanted, navigate), ...ofUser, ...all.filter((entry) => matches(entry, wanted))]
  return [...found.slice(0, maxShown), ...userEntries(wanted, navigate), ...(mayRead ? [textEntry(wanted, navigate)] : [])]
}

/** Every word occurs in the label or the hint. */
function matches({ label, hint, group }: Entry, wanted: string): boolean {
  const searched = `${label} ${hint ?? ''} ${group}`.toLowerCase()
  return wanted
    .toLowerCase()
    .split(/\s+/)
    .every((word) => searched.includes(word))
}

type Navigate = (href: string) => void

const pageEntries = (navigate: Navigate, me: Me): Entry[] =>
  groups.flatMap(({ label: group, items }) =>
    items
      .filter(({ needs }) => allows(me, needs))
      .map(({ href, label, icon, keys }) => ({
        id: `page ${href}`,
        group: 'Pages',
        label,
        hint: [group, keys === undefined ? null : `g ${keys}`].filter((part) => part !== null).join(' · '),
        icon,
        run: () => navigate(href),
      })),
  )

function useActions(navigate: Navigate, { onShortcuts, onSignOut }: Actions): Entry[] {
  const { setColorScheme } = useMantineColorScheme()
  const isDark = useComputedColorScheme('light', { getInitialValueInEffect: false }) === 'dark'
  const action = (label: string, icon: Icon, run: () => void): Entry => ({ id: `action ${label}`, group: 'Actions', label, icon, run })
  return [
    ...(useMay('agents') ? [action('Create agent', IconPlus, () => navigate('/agents/new'))] : []),
    action(isDark ? 'Switch to light mode' : 'Switch to dark mode', isDark ? IconSun : IconMoon, () =>
      setColorScheme(isDark ? 'light' : 'dark'),
    ),
    action('Keyboard shortcuts', IconKeyboard, onShortcuts),
    action('Sign out', IconLogout, onSignOut),
  ]
}

const agentEntries = (agents: Agent[], navigate: Navigate): Entry[] =>
  agents.flatMap(({ id, name, model }) => [
    {
      id: `agent ${id}`,
      group: 'Agents',
      label: name,
      hint: `${model} · ${id}`,
      icon: IconRobot,
      run: () => navigate(`/agents/${segment(id)}`),
    },
    {
      id: `playground ${id}`,
      group: 'Agents',
      label: `Chat with ${name}`,
      hint: 'Playground',
      icon: IconTerminal2,
      run: () => navigate(`/playground/${segment(id)}`),
    },
    {
      id: `knowledge ${id}`,
      group: 'Agents',
      label: `Knowledge of ${name}`,
      hint: 'Documents',
      icon: IconBook2,
      run: () => navigate(`/knowledge/${segment(id)}`),
    },
  ])

const ownerEntries = (owners: Owner[], navigate: Navigate): Entry[] =>
  owners.map(({ id, name }) => ({
    id: `owner ${id}`,
    group: 'Owners',
    label: name,
    hint: id,
    icon: IconWallet,
    run: () => navigate(`/money/${segment(id)}`),
  }))

function useKeyEntries(agents: Agent[], navigate: Navigate): Entry[] {
  const lists = useQueries({ queries: agents.slice(0, maxAgentsForKeys).map(({ id }) => keysQuery(id)) })
  return lists.flatMap(({ data }, index) =>
    (data ?? []).map(({ id, name, key_id: keyId }) => ({
      id: `key ${id}`,
      group: 'API keys',
      label: name ?? keyId,
      hint: `${agents[index]!.name} · ${keyId}`,
      icon: IconKey,
      run: () => navigate(`/keys/${segment(agents[index]!.id)}`),
    })),
  )
}

/** An ID that was copied from a log or a response leads to its page. */
function idEntries(wanted: string, navigate: Navigate): Entry[] {
  const entry = (label: string, icon: Icon, href: string): Entry[] => [
    { id: `id ${href}`, group: 'Go to', label, hint: wanted, icon, run: () => navigate(href) },
  ]
  if (/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(wanted))
    return entry('Trace of this request ID', IconListTree, `/turns/${segment(wanted.toLowerCase())}`)
  if (/^conv_[0-9a-z]+$/i.test(wanted))
    return entry('Conversation with this ID', IconMessages, `/conversations/${segment(wanted.toLowerCase())}`)
  if (/^agt_[0-9a-z]+$/i.test(wanted)) return entry('Agent with this ID', IconRobot, `/agents/${segment(wanted.toLowerCase())}`)
  if (/^own_[0-9a-z]+$/i.test(wanted)) return entry('Owner with this ID', IconWallet, `/money/${segment(wanted.toLowerCase())}`)
  return []
}

// One for each API key that the user has written through.
const maxConversations = 6
// As long as a pause in typing.
const pauseMs = 250

/** The conversations of the end user with exactly this ID, which the server looks up in an index. */
function useUserConversations(text: string, agents: Agent[], navigate: Navigate): Entry[] {
  const [wanted] = useDebouncedValue(text, pauseMs)
  const { data } = useQuery({
    queryKey: ['conversations', 'of user', wanted],
    queryFn: ({ signal }) =>
      call<Page<ListedConversation>>('/conversations', { query: { external_user_id: wanted, limit: maxConversations }, signal }),
    enabled: wanted !== '' && wanted.length <= 255,
  })
  if (wanted !== text) return []
  return (data?.data ?? []).map(({ id, agent_id: agentId, message_count: count }) => ({
    id: `conversation ${id}`,
    group: 'End users',
    label: wanted,
    hint: `Conversation with ${agents.find((agent) => agent.id === agentId)?.name ?? agentId} · ${count} messages`,
    icon: IconMessages,
    run: () => navigate(`/conversations/${segment(id)}`),
  }))
}

const textEntry = (wanted: string, navigate: Navigate): Entry => ({
  id: 'text',
  group: 'Messages',
  label: `Messages with “${wanted}”`,
  hint: 'Search',
  icon: IconSearch,
  run: () => navigate(`/conversations?${new URLSearchParams({ q: wanted }).toString()}`),
})

/** The list of all conversations of a user, by the exact name. */
const userEntries = (wanted: string, navigate: Navigate): Entry[] => [
  {
    id: 'end user',
    group: 'End users',
    label: `Conversations of “${wanted}”`,
    hint: 'End user ID',
    icon: IconUser,
    run: () => navigate(`/conversations?${new URLSearchParams({ external_user_id: wanted }).toString()}`),
  },
]
