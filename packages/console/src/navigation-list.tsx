/** The links of the navigation in their groups, with the current page marked. */
import { NavLink, Text } from '@mantine/core'
import { useId } from 'react'
import { Link } from 'wouter'
import { allows, useMe } from './api/session.ts'
import { groups, isWithin } from './navigation.ts'
import type { Destination, Group } from './navigation.ts'

export function NavigationList({ location }: { location: string }) {
  const me = useMe()
  return groups
    .map(({ label, items }) => ({ label, items: items.filter(({ needs }) => allows(me, needs)) }))
    .filter(({ items }) => items.length > 0)
    .map((group) => <Links key={group.label ?? ''} group={group} location={location} />)
}

function Links({ group: { label, items }, location }: { group: Group; location: string }) {
  const labelId = useId()
  return (
    <div role="group" {...(label === null ? { 'aria-label': 'Start' } : { 'aria-labelledby': labelId })} className="nav-group">
      {label === null ? null : (
        <Text id={labelId} size="xs" c="dimmed" fw={500} px="xs" pb={2}>
          {label}
        </Text>
      )}
      {items.map((item) => (
        <Item key={item.href} item={item} active={isWithin(location, item.href)} />
      ))}
    </div>
  )
}

function Item({ item: { href, label, icon: Icon }, active }: { item: Destination; active: boolean }) {
  return (
    <NavLink
      className="nav-link"
      component={Link}
      href={href}
      label={label}
      leftSection={<Icon size={17} stroke={1.6} aria-hidden="true" />}
      active={active}
      {...(active ? { 'aria-current': 'page' as const } : {})}
    />
  )
}
