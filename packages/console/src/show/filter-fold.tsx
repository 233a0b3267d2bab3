/** The filters above a list. On a phone they are behind a button, so that the list is in view. */
import { Button, Stack } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { IconAdjustmentsHorizontal } from '@tabler/icons-react'
import { useId, useState } from 'react'
import type { ReactNode } from 'react'

/** `count`: of the filters that are set. */
export function FilterFold({ count, children }: { count: number; children: ReactNode }) {
  const isPhone = useMediaQuery('(max-width: 47.99em)', undefined, { getInitialValueInEffect: false })
  const [isOpen, setOpen] = useState(false)
  const id = useId()
  if (!isPhone) return children
  return (
    <Stack gap="sm">
      <Button
        variant="default"
        aria-expanded={isOpen}
        aria-controls={id}
        leftSection={<IconAdjustmentsHorizontal size={16} stroke={1.6} aria-hidden="true" />}
        onClick={() => setOpen(!isOpen)}
        style={{ alignSelf: 'flex-start' }}
      >
        {count === 0 ? 'Filters' : `Filters (${count})`}
      </Button>
      <div id={id}>{isOpen ? children : null}</div>
    </Stack>
  )
}
