/** The navigation: the pages of the console with the current one marked, and the API references. */
import { AppShell, NavLink, ScrollArea } from '@mantine/core'
import { Link } from 'wouter'

const ways = [
  { href: '/', label: 'Overview' },
  { href: '/agents', label: 'Agents' },
  { href: '/playground', label: 'Playground' },
  { href: '/knowledge', label: 'Knowledge' },
  { href: '/keys', label: 'API keys' },
  { href: '/conversations', label: 'Conversations' },
  { href: '/end-users', label: 'External users' },
  { href: '/feedback', label: 'Feedback' },
  { href: '/money', label: 'Owners' },
  { href: '/usage', label: 'Usage' },
  { href: '/providers', label: 'Providers' },
  { href: '/webhooks', label: 'Webhooks' },
  { href: '/operations', label: 'System' },
]

export function Ways({ location, apiUrl }: { location: string; apiUrl: string | null }) {
  return (
    <>
      <AppShell.Section grow component={ScrollArea}>
        {ways.map(({ href, label }) => {
          const active = href === '/' ? location === '/' : location === href || location.startsWith(`${href}/`)
          return (
            <NavLink
              key={href}
              component={Link}
              href={href}
              label={label}
              active={active}
              bdrs="md"
              {...(active ? { 'aria-current': 'page' as const } : {})}
            />
          )
        })}
      </AppShell.Section>
      <AppShell.Section>
        <NavLink
          component="a"
          href={`${apiUrl ?? ''}/docs`}
          target="_blank"
          rel="noopener"
          label="API reference"
          description="Opens in a new tab"
        />
        <NavLink
          component="a"
          href="/admin/docs"
          target="_blank"
          rel="noopener"
          label="Admin API reference"
          description="Opens in a new tab"
        />
      </AppShell.Section>
    </>
  )
}
