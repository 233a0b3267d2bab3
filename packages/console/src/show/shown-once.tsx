/**
 * A dialog with a secret that cannot be shown again. A click outside and Escape do not close it, and the browser asks before the page is left.
 */
import { Button, Group, Modal, Stack } from '@mantine/core'
import { useEffect } from 'react'
import type { ReactNode } from 'react'

export type ShownOnceProps = { title: string; size: 'lg' | 'xl'; stored: string; onStored: () => void; children: ReactNode }

/** `stored`: the button that closes it. */
export function ShownOnce({ title, size, stored, onStored, children }: ShownOnceProps) {
  useEffect(() => {
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault()
    window.addEventListener('beforeunload', ask)
    return () => window.removeEventListener('beforeunload', ask)
  }, [])
  return (
    <Modal opened onClose={onStored} title={title} size={size} closeOnEscape={false} closeOnClickOutside={false} withCloseButton={false}>
      <Stack>
        {children}
        <Group justify="flex-end">
          <Button onClick={onStored}>{stored}</Button>
        </Group>
      </Stack>
    </Modal>
  )
}
