/** A page that the signed-in principal may not open explains what is missing. The navigation does not list it. */
import { Anchor, Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { allows, useMe } from './api/session.ts'
import { needsOf } from './navigation.ts'
import { Page } from './show/page.tsx'
import { roleNames } from './show/role-names.ts'

export function Guard({ location, children }: { location: string; children: ReactNode }) {
  const me = useMe()
  const needs = needsOf(location)
  if (needs === null || allows(me, needs)) return <>{children}</>
  const hasPermission = allows(me, { permission: needs.permission })
  return (
    <Page title="You may not open this page">
      <Text>
        {hasPermission
          ? 'It concerns the whole installation, and you are restricted to one owner.'
          : `It needs the permission ${[needs.permission].flat().join(' or ')}, which your role ${roleNames[me.role]} does not have.`}{' '}
        Ask an admin if you need it.
      </Text>
      <Anchor component={Link} href="/">
        Go to the overview
      </Anchor>
    </Page>
  )
}
