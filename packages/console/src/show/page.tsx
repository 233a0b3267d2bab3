/**
 * The frame of every page: where it is, its heading, its actions, and one sentence that explains the heading. After a navigation the heading
 * has the focus.
 */
import { Anchor, Box, Group, Stack, Text, Title } from '@mantine/core'
import { createContext, useContext, useEffect, useRef } from 'react'
import type { ReactNode } from 'react'
import { Link } from 'wouter'

/** Receives the heading of each new page, to focus it. */
export const Arrival = createContext<((heading: HTMLElement) => void) | null>(null)

/** A page above this one. */
export type Crumb = { href: string; label: string }

/** `trail`: the pages above this one, from the list on. */
type PageProps = { title: string; trail?: Crumb[]; lead?: ReactNode; actions?: ReactNode; children: ReactNode }

const noCrumbs: Crumb[] = []

/** The heading of a page, for a page with a layout of its own. */
export function PageTitle({ title, hidden = false }: { title: string; hidden?: boolean }) {
  const heading = useRef<HTMLHeadingElement>(null)
  const arrive = useContext(Arrival)
  useEffect(() => {
    document.title = `${title} · Turnkeep`
  }, [title])
  // Once for each new page, not for changes of its address such as a tab or a filter.
  useEffect(() => {
    if (heading.current) arrive?.(heading.current)
  }, [arrive])
  return (
    <Title order={1} size="h2" className={hidden ? 'for-readers-only' : 'as-written'} tabIndex={-1} ref={heading}>
      {title}
    </Title>
  )
}

export function Page({ title, trail = noCrumbs, lead, actions, children }: PageProps) {
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-start" gap="sm">
        <Box miw={0}>
          <Trail crumbs={trail} />
          <PageTitle title={title} />
          {lead ? (
            <Text c="dimmed" size="sm" maw={720} mt={4} component="div" style={{ textWrap: 'pretty' }}>
              {lead}
            </Text>
          ) : null}
        </Box>
        {actions ? <Group gap="xs">{actions}</Group> : null}
      </Group>
      {children}
    </Stack>
  )
}

function Trail({ crumbs }: { crumbs: Crumb[] }) {
  if (crumbs.length === 0) return null
  return (
    <nav aria-label="Breadcrumb">
      <ol className="trail">
        {crumbs.map(({ href, label }) => (
          <li key={href}>
            <Anchor component={Link} href={href} size="sm" c="dimmed" className="as-name">
              {label}
            </Anchor>
          </li>
        ))}
      </ol>
    </nav>
  )
}
