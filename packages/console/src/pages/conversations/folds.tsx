/** The collapsible parts below a turn. The transcript stores which ones are open, because a row that scrolls out of view is unmounted. */
import { Box, Button, Group, Stack } from '@mantine/core'
import { createContext, use, useMemo, useState } from 'react'
import type { ReactNode } from 'react'

type Opened = { keys: ReadonlySet<string>; toggle: (key: string) => void }

const OpenedFolds = createContext<Opened>({ keys: new Set(), toggle: () => undefined })

export function KeepFolds({ children }: { children: ReactNode }) {
  const [keys, setKeys] = useState<ReadonlySet<string>>(new Set())
  const opened = useMemo<Opened>(
    () => ({
      keys,
      toggle: (key) =>
        setKeys((before) => (before.has(key) ? new Set([...before].filter((other) => other !== key)) : new Set(before).add(key))),
    }),
    [keys],
  )
  return <OpenedFolds value={opened}>{children}</OpenedFolds>
}

export type Fold = { name: string; label: string; content: ReactNode }

/** Buttons in a row, and below them what is open. `of` is the row's key; `before` and `children` are in the same row. */
export function Folds({ of, folds, before, children }: { of: string; folds: Fold[]; before?: ReactNode; children?: ReactNode }) {
  const { keys, toggle } = use(OpenedFolds)
  const keyOf = (name: string): string => `${of}-${name}`
  return (
    <Stack gap="xs" mt={8}>
      <Group gap={6}>
        {before}
        {folds.map(({ name, label }) => (
          <Button
            key={name}
            size="compact-xs"
            variant="default"
            aria-expanded={keys.has(keyOf(name))}
            aria-controls={keyOf(name)}
            onClick={() => toggle(keyOf(name))}
            rightSection={<span aria-hidden="true">{keys.has(keyOf(name)) ? '▴' : '▾'}</span>}
          >
            {label}
          </Button>
        ))}
        {children}
      </Group>
      {folds.map(({ name, label, content }) => (
        <Box component="section" key={name} id={keyOf(name)} aria-label={label} hidden={!keys.has(keyOf(name))} ps="sm">
          {keys.has(keyOf(name)) ? content : null}
        </Box>
      ))}
    </Stack>
  )
}
