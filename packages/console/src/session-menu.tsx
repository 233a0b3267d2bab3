/** The menu of the signed-in operator: color scheme, shortcuts, the API references, sign-out. */
import { Menu, Text, UnstyledButton, useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { IconExternalLink, IconKeyboard, IconLogout, IconMoon, IconSelector, IconSun, IconUser } from '@tabler/icons-react'
import { Link } from 'wouter'
import { roleNames } from './show/role-names.ts'
import type { Me, Session } from './api/types.ts'

type SessionMenuProps = { session: Session; me: Me; onShortcuts: () => void; onSignOut: () => void }

/** The admin token has no name. */
const nameOf = ({ name }: Me): string => name ?? 'Admin token'

const icon = { size: 16, stroke: 1.6, 'aria-hidden': true } as const

export function SessionMenu({ session, me, onShortcuts, onSignOut }: SessionMenuProps) {
  return (
    <Menu width={220} position="top-start" shadow="md">
      <Menu.Target>
        <UnstyledButton className="session-button">
          <span className="session-mark" aria-hidden="true">
            {nameOf(me).slice(0, 1).toUpperCase()}
          </span>
          <span className="session-name">
            <Text span display="block" size="sm" fw={500} lh={1.3} truncate>
              {nameOf(me)}
            </Text>
            <Text span display="block" size="xs" c="dimmed" lh={1.3}>
              {me.who === 'admin_token' ? `Version ${session.version}` : roleNames[me.role]}
            </Text>
            <span className="for-readers-only">Session menu</span>
          </span>
          <IconSelector {...icon} />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        {me.who === 'operator' ? (
          <Menu.Item component={Link} href="/account" leftSection={<IconUser {...icon} />}>
            Account
          </Menu.Item>
        ) : null}
        <SchemeItem />
        <Menu.Item leftSection={<IconKeyboard {...icon} />} onClick={onShortcuts}>
          Keyboard shortcuts
        </Menu.Item>
        <Menu.Divider />
        <Reference href={`${session.api_url ?? ''}/docs`} label="API reference" />
        <Reference href="/admin/docs" label="Admin API reference" />
        <Menu.Divider />
        <Menu.Item leftSection={<IconLogout {...icon} />} onClick={onSignOut}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

/** Mantine stores the choice in this browser. Before that, the system's color scheme is used. */
function SchemeItem() {
  const { setColorScheme } = useMantineColorScheme()
  const isDark = useComputedColorScheme('light', { getInitialValueInEffect: false }) === 'dark'
  const Icon = isDark ? IconSun : IconMoon
  return (
    <Menu.Item leftSection={<Icon {...icon} />} onClick={() => setColorScheme(isDark ? 'light' : 'dark')}>
      {isDark ? 'Switch to light mode' : 'Switch to dark mode'}
    </Menu.Item>
  )
}

function Reference({ href, label }: { href: string; label: string }) {
  return (
    <Menu.Item component="a" href={href} target="_blank" rel="noopener" leftSection={<IconExternalLink {...icon} />}>
      {label}
    </Menu.Item>
  )
}
