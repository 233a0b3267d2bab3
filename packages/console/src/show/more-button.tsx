/** The end of a list with pages: which items are shown, a button for more, and one for the start when it is not in the page anymore. */
import { Button, Group, Stack, Text } from '@mantine/core'
import type { List } from '../api/lists.ts'
import { FailureNote } from './failure-note.tsx'
import { writeCount } from './measures.ts'

export function MoreButton({ list }: { list: List<unknown> }) {
  const { items, first, more, query, loadMore, backToStart } = list
  if (items.length === 0) return null
  return (
    <Stack gap="xs">
      {query.isFetchNextPageError ? <FailureNote error={query.error} title="Could not load more" /> : null}
      <Group gap="sm">
        <Text size="sm" c="dimmed" aria-live="polite">
          {which(first, items.length, more)}
        </Text>
        {more ? (
          <Button size="xs" variant="default" loading={query.isFetchingNextPage} onClick={loadMore}>
            Load more
          </Button>
        ) : null}
        {first > 0 ? (
          <Button size="xs" variant="default" onClick={backToStart}>
            Back to the start
          </Button>
        ) : null}
      </Group>
    </Stack>
  )
}

function which(first: number, count: number, more: boolean): string {
  if (first > 0) return `Showing ${writeCount(first + 1)} to ${writeCount(first + count)}${more ? '' : ', the end of the list'}`
  return more ? `Showing the first ${writeCount(count)}` : `Showing all ${writeCount(count)}`
}
