/** The menu of the signed-in operator: color scheme, shortcuts, the API references, sign-out. */
import { Menu, Text, UnstyledButton, useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { IconExternalLink, IconKeyboard, IconLogout, IconMoon, IconSelector, IconSun } from '@tabler/icons-react'
import type { Session } from '../api/types.ts'

type SessionMenuProps = { session: Session; onShortcuts: () => void; onSignOut: () => void }

const icon = { size: 16, stroke: 1.6, 'aria-hidden': true } as const

export function SessionMenu({ session, onShortcuts, onSignOut }: SessionMenuProps) {
  return (
    <Menu width={220} position="top-start" shadow="md">
      <Menu.Target>
        <UnstyledButton className="session-button">
          <span className="session-mark" aria-hidden="true">
            A
          </span>
          <span className="session-name">
            <Text span display="block" size="sm" fw={500} lh={1.3} truncate>
              Admin token
            </Text>
            <Text span display="block" size="xs" c="dimmed" lh={1.3}>
              Version {session.version}
            </Text>
            <span className="for-readers-only">Session menu</span>
          </span>
          <IconSelector {...icon} />
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
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
