/**
 * Asks before unsaved changes are lost: by a link, by the browser's back button if the Navigation API can intercept it, and by closing the
 * tab, for which the browser has its own dialog.
 */
import { Text } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { useRouter } from 'wouter'
import { navigate } from 'wouter/use-browser-location'
import { Confirm } from './confirm.tsx'

/** `within`: the path below which nothing is lost. */
type LeaveGuardProps = { unsaved: boolean; within: string; title?: string; verb?: string; text?: string }

export function LeaveGuard({
  unsaved,
  within,
  title = 'Leave without saving?',
  verb = 'Leave without saving',
  text = 'Your unsaved changes will be lost.',
}: LeaveGuardProps) {
  const { base } = useRouter()
  const [onward, setOnward] = useState<(() => void) | null>(null)
  const leaving = useRef(false)
  useEffect(() => {
    if (!unsaved) return
    const stays = (path: string): boolean => path === `${base}${within}` || path.startsWith(`${base}${within}/`)
    const ask = (go: () => void): void =>
      setOnward(() => () => {
        leaving.current = true
        go()
      })

    const onClick = (event: MouseEvent): void => {
      if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
      const link = event.target instanceof Element ? event.target.closest('a[href]') : null
      if (!(link instanceof HTMLAnchorElement) || link.target === '_blank' || link.origin !== window.location.origin) return
      if (leaving.current || stays(link.pathname)) return
      event.preventDefault()
      // Also before another guard of the same page.
      event.stopImmediatePropagation()
      const { pathname, search } = link
      ask(() => navigate(`${pathname}${search}`))
    }
    const onUnload = (event: BeforeUnloadEvent): void => {
      if (!leaving.current) event.preventDefault()
    }
    const onNavigate = (event: NavigateEvent): void => {
      const { destination, navigationType, cancelable } = event
      if (navigationType !== 'traverse' || !cancelable || leaving.current || stays(new URL(destination.url).pathname)) return
      event.preventDefault()
      ask(() => window.navigation.traverseTo(destination.key))
    }
    const hasNavigation = 'navigation' in window
    // Before the router handles the link.
    document.addEventListener('click', onClick, true)
    window.addEventListener('beforeunload', onUnload)
    if (hasNavigation) window.navigation.addEventListener('navigate', onNavigate)
    return () => {
      document.removeEventListener('click', onClick, true)
      window.removeEventListener('beforeunload', onUnload)
      if (hasNavigation) window.navigation.removeEventListener('navigate', onNavigate)
    }
  }, [unsaved, base, within])
  return (
    <Confirm
      opened={onward !== null}
      title={title}
      verb={verb}
      pending={false}
      error={null}
      onConfirm={() => onward?.()}
      onClose={() => setOnward(null)}
    >
      <Text size="sm">{text}</Text>
    </Confirm>
  )
}
