/** The end of a list with pages: how many items are shown, and a button for more. */
import { Button, Group, Stack, Text } from '@mantine/core'
import type { List } from '../api/lists.ts'
import { FailureNote } from './failure-note.tsx'

export function MoreButton({ list }: { list: List<unknown> }) {
  const { items, more, query, loadMore } = list
  if (items.length === 0) return null
  return (
    <Stack gap="xs">
      {query.isFetchNextPageError ? <FailureNote error={query.error} title="Could not load more" /> : null}
      <Group gap="sm">
        <Text size="sm" c="dimmed" aria-live="polite">
          {more ? `Showing the first ${items.length}` : `Showing all ${items.length}`}
        </Text>
        {more ? (
          <Button size="xs" variant="default" loading={query.isFetchingNextPage} onClick={loadMore}>
            Load more
          </Button>
        ) : null}
      </Group>
    </Stack>
  )
}
