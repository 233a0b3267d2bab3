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
  IconUsers,
  IconWallet,
  IconWebhook,
} from '@tabler/icons-react'
import type { Icon } from '@tabler/icons-react'

/** `keys`: typed after `g`, they open the page. */
export type Destination = { href: string; label: string; icon: Icon; keys?: string }
export type Group = { label: string | null; items: Destination[] }

export const groups: Group[] = [
  { label: null, items: [{ href: '/', label: 'Overview', icon: IconLayoutDashboard, keys: 'o' }] },
  {
    label: 'Build',
    items: [
      { href: '/agents', label: 'Agents', icon: IconRobot, keys: 'a' },
      { href: '/knowledge', label: 'Knowledge', icon: IconBook2, keys: 'k' },
      { href: '/playground', label: 'Playground', icon: IconTerminal2, keys: 'p' },
    ],
  },
  {
    label: 'Observe',
    items: [
      { href: '/conversations', label: 'Conversations', icon: IconMessages, keys: 'c' },
      { href: '/turns', label: 'Traces', icon: IconListTree, keys: 't' },
      { href: '/end-users', label: 'External users', icon: IconUsers, keys: 'e' },
      { href: '/feedback', label: 'Feedback', icon: IconThumbUp },
      { href: '/usage', label: 'Usage', icon: IconChartBar, keys: 'u' },
    ],
  },
  {
    label: 'Money',
    items: [
      { href: '/money', label: 'Owners', icon: IconWallet, keys: 'm' },
      { href: '/limits', label: 'Limits', icon: IconGauge, keys: 'l' },
    ],
  },
  {
    label: 'Connect',
    items: [
      { href: '/keys', label: 'API keys', icon: IconKey },
      { href: '/webhooks', label: 'Webhooks', icon: IconWebhook, keys: 'w' },
      { href: '/providers', label: 'Providers', icon: IconPlugConnected },
    ],
  },
  {
    label: 'System',
    items: [
      { href: '/operations', label: 'Status', icon: IconActivity, keys: 's' },
      { href: '/audit', label: 'Audit log', icon: IconHistory },
    ],
  },
]

export const isWithin = (location: string, href: string): boolean =>
  href === '/' ? location === '/' : location === href || location.startsWith(`${href}/`)
