/**
 * All conversations, newest first, by text, agent, key, end user, state, feedback and time. The filters are in the address, so that a
 * view can be bookmarked and shared.
 */
import { Anchor, Button, Group, Stack, Text, Title } from '@mantine/core'
import { Link, useSearchParams } from 'wouter'
import { useList } from '../../api/lists.ts'
import { useMay } from '../../api/session.ts'
import type { ListedConversation } from '../../api/types.ts'
import { Empty } from '../../show/empty.tsx'
import { FailureNote } from '../../show/failure-note.tsx'
import { MoreButton } from '../../show/more-button.tsx'
import { Page } from '../../show/page.tsx'
import { RunningTurns } from '../../show/running-turns.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { ConversationTable } from './conversation-table.tsx'
import { FilterBar } from './filter-bar.tsx'
import { isBackwards, isFiltered, isSearch, noFilters, queryOf, readFilters, writeFilters } from './filter-query.ts'
import type { Filters } from './filter-query.ts'
import { useSearchOn } from './use-search-on.ts'

export function Conversations() {
  const [params, setParams] = useSearchParams()
  const filters = readFilters(params)
  const change = (changed: Filters): void => setParams(writeFilters(changed))
  return (
    <Page
      title="Conversations"
      lead="What end users and your agents wrote to each other. A conversation has all turns of one user with one API key."
    >
      <FilterBar filters={filters} onChange={change} />
      <RunningTurns
        agentId={filters.agent_id}
        heading={
          <Title order={2} size="h4">
            Running turns
          </Title>
        }
      />
      <Found key={String(new URLSearchParams(writeFilters(filters)))} filters={filters} onClear={() => change(noFilters)} />
    </Page>
  )
}

function Found({ filters, onClear }: { filters: Filters; onClear: () => void }) {
  const backwards = isBackwards(filters)
  const excerpts = useMay('conversations') ? 'true' : undefined
  const query = { ...queryOf(filters), excerpts }
  // Pages of a search may be empty, and are counted.
  const options = { enabled: !backwards, keepsAll: isSearch(filters) }
  const list = useList<ListedConversation>(['conversations'], '/conversations', query, options)
  const search = useSearchOn(list)
  if (backwards) return <NothingFits onClear={onClear} />
  return (
    <Waiting for={list.query} what="conversations">
      {() => (
        <Stack>
          {list.items.length > 0 ? <ConversationTable conversations={list.items} filters={filters} /> : null}
          {isSearch(filters) && list.more && (search.isGoingOn || list.items.length === 0) ? (
            <SearchState count={list.items.length} search={search} error={list.query.isFetchNextPageError ? list.query.error : null} />
          ) : list.items.length > 0 ? (
            <MoreButton list={list} />
          ) : isFiltered(filters) ? (
            <NothingFits onClear={onClear} />
          ) : (
            <NoneYet />
          )}
        </Stack>
      )}
    </Waiting>
  )
}

/** The server examines a limited number of turns for each page, so a search goes on page after page. */
function SearchState({ count, search, error }: { count: number; search: ReturnType<typeof useSearchOn>; error: Error | null }) {
  return (
    <Stack gap="xs">
      <FailureNote error={error} title="Could not search older conversations" />
      <Group gap="sm">
        <Text size="sm" c="dimmed" role="status">
          {search.isGoingOn ? 'Searching older conversations…' : 'Not all conversations have been searched.'}
          {count === 0 ? ' Nothing found so far.' : ''}
        </Text>
        {search.isGoingOn ? (
          <Button size="xs" variant="default" onClick={search.stop}>
            Stop
          </Button>
        ) : (
          <Button size="xs" variant="default" onClick={search.goOn}>
            Search older conversations
          </Button>
        )}
      </Group>
    </Stack>
  )
}

const NoneYet = () => (
  <Empty title="No conversations yet">
    A conversation starts with the first message of an end user. Send one in the{' '}
    <Anchor component={Link} href="/playground" inherit underline="always">
      playground
    </Anchor>
    , or call an agent with an{' '}
    <Anchor component={Link} href="/keys" inherit underline="always">
      API key
    </Anchor>
    .
  </Empty>
)

const NothingFits = ({ onClear }: { onClear: () => void }) => (
  <Empty
    title="No matching conversations"
    action={
      <Button variant="default" onClick={onClear}>
        Clear filters
      </Button>
    }
  >
    Text, state and feedback must be those of one turn. The end user ID must match exactly, and erased conversations no longer have one.
    Dates refer to when a conversation started.
  </Empty>
)
