/** The filters above a list. On a phone they are behind a button, so that the list is in view. */
import { Button, Group, Stack } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { IconAdjustmentsHorizontal } from '@tabler/icons-react'
import { useId, useState } from 'react'
import type { ReactNode } from 'react'

/** `count`: of the filters that are set. `before`: what is always shown, such as a search field. */
type FilterFoldProps = { count: number; before?: ReactNode; children: ReactNode }

export function FilterFold({ count, before, children }: FilterFoldProps) {
  const isPhone = useMediaQuery('(max-width: 47.99em)', undefined, { getInitialValueInEffect: false })
  const [isOpen, setOpen] = useState(false)
  const id = useId()
  if (!isPhone)
    return (
      <>
        {before}
        {children}
      </>
    )
  return (
    <Stack gap="sm">
      <Group gap="xs" wrap="nowrap">
        {before}
        <Button
          variant="default"
          px="sm"
          aria-expanded={isOpen}
          aria-controls={id}
          leftSection={<IconAdjustmentsHorizontal size={16} stroke={1.6} aria-hidden="true" />}
          onClick={() => setOpen(!isOpen)}
          style={{ flex: 'none' }}
        >
          {count === 0 ? 'Filters' : `Filters (${count})`}
        </Button>
      </Group>
      <div id={id}>{isOpen ? children : null}</div>
    </Stack>
  )
}
