/**
 * Asks before unsaved changes are lost: by a navigation within the console, by the browser's back button if the Navigation API can intercept
 * it, and by leaving the console or closing the tab, for which the browser has its own dialog.
 */
import { Text } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { useRouter } from 'wouter'
import { Confirm } from './confirm.tsx'
import { addGuard, signOutPath } from './guarded-navigation.ts'

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
    const asks = (path: string, go: () => void): boolean => {
      if (leaving.current || path === `${base}${within}` || path.startsWith(`${base}${within}/`)) return false
      setOnward(() => () => {
        // A sign-out can fail. The page stays then, and so does the question.
        if (path === signOutPath) setOnward(null)
        else leaving.current = true
        go()
      })
      return true
    }
    const removeGuard = addGuard(asks)
    const onUnload = (event: BeforeUnloadEvent): void => {
      if (!leaving.current) event.preventDefault()
    }
    const onNavigate = (event: NavigateEvent): void => {
      const { destination, navigationType, cancelable } = event
      if (navigationType !== 'traverse' || !cancelable) return
      if (asks(new URL(destination.url).pathname, () => window.navigation.traverseTo(destination.key))) event.preventDefault()
    }
    const hasNavigation = 'navigation' in window
    window.addEventListener('beforeunload', onUnload)
    if (hasNavigation) window.navigation.addEventListener('navigate', onNavigate)
    return () => {
      removeGuard()
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
