/** The frame around every page: navigation, command palette, the menu of the session. On a phone the navigation is a drawer. */
import { ActionIcon, Anchor, AppShell, Burger, Group, Kbd, ScrollArea, UnstyledButton } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconSearch } from '@tabler/icons-react'
import { Suspense, lazy, useEffect, useRef } from 'react'
import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { MeContext, useSession, useSignOut } from './api/session.ts'
import type { SignedIn } from './api/session.ts'
import type { Session } from './api/types.ts'
import { useArrival } from './arrive.ts'
import { Logo } from './show/logo.tsx'
import { Arrival } from './show/page.tsx'
import { NavigationList } from './navigation-list.tsx'
import { paletteKeys, useShortcuts } from './shortcuts.ts'
import { guarded, signOutPath } from './show/guarded-navigation.ts'
import { useToast } from './show/toasts.tsx'

const SessionMenu = lazy(() => import('./session-menu.tsx').then(({ SessionMenu: menu }) => ({ default: menu })))
// Loaded after the page. They stay mounted, so that they return the focus to what had it before.
const Palette = lazy(() => import('./palette.tsx').then(({ Palette: dialog }) => ({ default: dialog })))
const ShortcutList = lazy(() => import('./shortcut-list.tsx').then(({ ShortcutList: dialog }) => ({ default: dialog })))

type ShellProps = { signedIn: SignedIn; onSignOut: () => void; children: ReactNode }

export function Shell({ signedIn: { session, me }, onSignOut, children }: ShellProps) {
  const [opened, { toggle, close }] = useDisclosure()
  const [searches, palette] = useDisclosure()
  const [lists, shortcuts] = useDisclosure()
  const [location] = useLocation()
  const main = useRef<HTMLElement>(null)
  const burger = useRef<HTMLButtonElement>(null)
  const arrive = useArrival()
  const signOut = useSignOut()
  const toast = useToast()
  useEffect(close, [location, close])
  useEndOfSession(session)
  useShortcuts({ onPalette: palette.open, onList: shortcuts.open })
  const leave = (): void =>
    guarded(signOutPath, () => {
      onSignOut()
      signOut.mutate(undefined, { onError: (error) => toast(`Could not sign out: ${error.message}`) })
    })
  return (
    <MeContext value={me}>
      <AppShell
        header={{ height: { base: 52, sm: 0 } }}
        navbar={{ width: 232, breakpoint: 'sm', collapsed: { mobile: !opened } }}
        padding={{ base: 'md', sm: 'xl' }}
      >
        <SkipLink onSkip={() => main.current?.focus()} />
        <AppShell.Header hiddenFrom="sm" className="phone-header">
          <Burger
            ref={burger}
            opened={opened}
            onClick={toggle}
            size="sm"
            aria-label={opened ? 'Close menu' : 'Open menu'}
            aria-expanded={opened}
            aria-controls="navigation"
          />
          <Home />
          <ActionIcon size="lg" aria-label="Find" onClick={palette.open}>
            <IconSearch size={18} stroke={1.6} />
          </ActionIcon>
        </AppShell.Header>
        <AppShell.Navbar
          id="navigation"
          className="navigation"
          mod={{ closed: !opened }}
          aria-label="Main"
          onKeyDown={({ key }) => {
            if (key !== 'Escape' || !opened) return
            close()
            burger.current?.focus()
          }}
        >
          <AppShell.Section visibleFrom="sm" px="xs" pt={4} pb="sm">
            <Home />
          </AppShell.Section>
          <AppShell.Section visibleFrom="sm" pb="xs">
            <UnstyledButton className="search-button" onClick={palette.open} aria-keyshortcuts="Control+K Meta+K">
              <Group gap={8} wrap="nowrap">
                <IconSearch size={15} stroke={1.6} aria-hidden="true" />
                Find…
              </Group>
              <Kbd size="xs" aria-hidden="true">
                {paletteKeys}
              </Kbd>
            </UnstyledButton>
          </AppShell.Section>
          <AppShell.Section grow component={ScrollArea} type="auto">
            <NavigationList location={location} />
          </AppShell.Section>
          <AppShell.Section pt="xs">
            <Suspense fallback={<div className="session-button" />}>
              <SessionMenu session={session} me={me} onShortcuts={shortcuts.open} onSignOut={leave} />
            </Suspense>
          </AppShell.Section>
        </AppShell.Navbar>
        <AppShell.Main id="main" tabIndex={-1} ref={main}>
          <div className="page">
            <Arrival value={arrive}>{children}</Arrival>
          </div>
        </AppShell.Main>
        <Suspense fallback={null}>
          <Palette opened={searches} onClose={palette.close} onShortcuts={shortcuts.open} onSignOut={leave} />
          <ShortcutList opened={lists} onClose={shortcuts.close} />
        </Suspense>
      </AppShell>
    </MeContext>
  )
}

function Home() {
  return (
    <Anchor component={Link} href="/" c="inherit" td="none" aria-label="Turnkeep, overview">
      <Logo />
    </Anchor>
  )
}

function SkipLink({ onSkip }: { onSkip: () => void }) {
  return (
    <Anchor
      className="skip"
      href="#main"
      onClick={(event) => {
        event.preventDefault()
        onSkip()
      }}
    >
      Skip to content
    </Anchor>
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
