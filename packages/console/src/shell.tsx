/** The frame around every page: navigation, color scheme, sign-out. On a phone the navigation is collapsed. */
import { ActionIcon, Anchor, AppShell, Burger, Button, Group, Text, useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useEffect, useRef } from 'react'
import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { useSession, useSignOut } from './api/session.ts'
import type { Session } from './api/types.ts'
import { useArrival } from './arrive.ts'
import { MoonIcon, SunIcon } from './show/icons.tsx'
import { Arrival } from './show/page.tsx'
import { Ways } from './ways.tsx'

type ShellProps = { session: Session; onSignOut: () => void; children: ReactNode }

export function Shell({ session, onSignOut, children }: ShellProps) {
  const [opened, { toggle, close }] = useDisclosure()
  const [location] = useLocation()
  const main = useRef<HTMLElement>(null)
  const burger = useRef<HTMLButtonElement>(null)
  const arrive = useArrival()
  const signOut = useSignOut()
  useEffect(close, [location, close])
  useEndOfSession(session)
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 208, breakpoint: 'sm', collapsed: { mobile: !opened } }}
      padding={{ base: 'md', sm: 'xl' }}
    >
      <Anchor
        className="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault()
          main.current?.focus()
        }}
      >
        Skip to content
      </Anchor>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger
              ref={burger}
              opened={opened}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label={opened ? 'Close menu' : 'Open menu'}
              aria-expanded={opened}
              aria-controls="ways"
            />
            <Text fw={700} component={Link} href="/" c="inherit" td="none">
              Turnkeep
            </Text>
            <Text size="xs" c="dimmed" visibleFrom="xs">
              {session.version}
            </Text>
          </Group>
          <Group gap="xs" wrap="nowrap">
            <SchemeToggle />
            <Button
              variant="default"
              size="xs"
              loading={signOut.isPending}
              onClick={() => {
                onSignOut()
                signOut.mutate()
              }}
            >
              Sign out
            </Button>
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar
        id="ways"
        p="xs"
        className="ways"
        mod={{ closed: !opened }}
        aria-label="Main"
        onKeyDown={({ key }) => {
          if (key !== 'Escape' || !opened) return
          close()
          burger.current?.focus()
        }}
      >
        <Ways location={location} apiUrl={session.api_url} />
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1} ref={main}>
        <Arrival value={arrive}>{children}</Arrival>
      </AppShell.Main>
    </AppShell>
  )
}

/** Mantine stores the choice in this browser. Before that, the system's color scheme is used. */
function SchemeToggle() {
  const { setColorScheme } = useMantineColorScheme()
  const dark = useComputedColorScheme('light', { getInitialValueInEffect: false }) === 'dark'
  return (
    <ActionIcon
      variant="default"
      size="lg"
      aria-label={dark ? 'Switch to light mode' : 'Switch to dark mode'}
      onClick={() => setColorScheme(dark ? 'light' : 'dark')}
    >
      {dark ? <SunIcon /> : <MoonIcon />}
    </ActionIcon>
  )
}

// Timers hold 31 bits. For a session that lasts longer, the session is checked once in between.
const maxTimerMs = 2 ** 31 - 1
// The server's clock decides when it ends, so it is asked a moment later.
const afterwardsMs = 1_000

/** Nothing of a session stays on the screen when it ends: the server is asked then, and the sign-in is shown. */
function useEndOfSession({ expires_at: expiresAt }: Session): void {
  const { refetch } = useSession()
  useEffect(() => {
    const leftMs = Math.max(0, Date.parse(expiresAt) - Date.now()) + afterwardsMs
    const timer = setTimeout(() => void refetch(), Math.min(leftMs, maxTimerMs))
    return () => clearTimeout(timer)
  }, [expiresAt, refetch])
}
