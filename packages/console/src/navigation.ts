/** The pages of the console in groups, as the navigation and the command palette list them. app.tsx has the routes. */
import {
  IconActivity,
  IconBook2,
  IconChartBar,
  IconGauge,
  IconHistory,
  IconKey,
  IconLayoutDashboard,
  IconListTree,
  IconMessages,
  IconPlugConnected,
  IconRobot,
  IconTerminal2,
  IconThumbUp,
  IconShieldKey,
  IconUserShield,
  IconUsers,
  IconWallet,
  IconWebhook,
} from '@tabler/icons-react'
import type { Icon } from '@tabler/icons-react'
import type { Needs } from './api/session.ts'

/** `keys`: typed after `g`, they open the page. `needs`: without it, the page is not listed, and explains itself if it is opened. */
export type Destination = { href: string; label: string; icon: Icon; keys?: string; needs: Needs }
export type Group = { label: string | null; items: Destination[] }

const read: Needs = { permission: 'read' }
const operators: Needs = { permission: 'operators', installation: true }

export const groups: Group[] = [
  { label: null, items: [{ href: '/', label: 'Overview', icon: IconLayoutDashboard, needs: read, keys: 'o' }] },
  {
    label: 'Build',
    items: [
      { href: '/agents', label: 'Agents', icon: IconRobot, needs: read, keys: 'a' },
      { href: '/knowledge', label: 'Knowledge', icon: IconBook2, needs: read, keys: 'k' },
      { href: '/playground', label: 'Playground', icon: IconTerminal2, needs: { permission: 'agents' }, keys: 'p' },
    ],
  },
  {
    label: 'Observe',
    items: [
      { href: '/conversations', label: 'Conversations', icon: IconMessages, needs: read, keys: 'c' },
      { href: '/turns', label: 'Traces', icon: IconListTree, needs: read, keys: 't' },
      { href: '/end-users', label: 'End users', icon: IconUsers, needs: read, keys: 'e' },
      { href: '/feedback', label: 'Feedback', icon: IconThumbUp, needs: { permission: 'conversations' } },
      { href: '/usage', label: 'Usage', icon: IconChartBar, needs: read, keys: 'u' },
    ],
  },
  {
    label: 'Money',
    items: [
      { href: '/money', label: 'Owners', icon: IconWallet, needs: read, keys: 'm' },
      { href: '/limits', label: 'Limits', icon: IconGauge, needs: read, keys: 'l' },
    ],
  },
  {
    label: 'Connect',
    items: [
      { href: '/keys', label: 'API keys', icon: IconKey, needs: read },
      { href: '/webhooks', label: 'Webhooks', icon: IconWebhook, needs: read, keys: 'w' },
      { href: '/providers', label: 'Providers', icon: IconPlugConnected, needs: { permission: 'read', installation: true } },
    ],
  },
  {
    label: 'System',
    items: [
      { href: '/operations', label: 'Status', icon: IconActivity, needs: { permission: 'read', installation: true }, keys: 's' },
      { href: '/audit', label: 'Audit log', icon: IconHistory, needs: { permission: 'audit', installation: true } },
      { href: '/operators', label: 'Operators', icon: IconUserShield, needs: operators },
      { href: '/tokens', label: 'Tokens', icon: IconShieldKey, needs: operators },
    ],
  },
]

export const isWithin = (location: string, href: string): boolean =>
  href === '/' ? location === '/' : location === href || location.startsWith(`${href}/`)

/** What opening an address requires; null for pages that everyone may open. Details of a turn and a conversation contain messages. */
export function needsOf(location: string): Needs | null {
  const found = groups.flatMap(({ items }) => items).find(({ href }) => isWithin(location, href))
  if (/^\/(turns|conversations)\/./.test(location)) return { permission: 'conversations' }
  return found?.needs ?? null
}
