/**
 * All conversations, newest first, by agent, key, external user and time. The filters are in the address, so that a view can be bookmarked
 * and shared.
 */
import { Anchor, Button, Stack, Title } from '@mantine/core'
import { Link, useSearchParams } from 'wouter'
import { useList } from '../../api/lists.ts'
import type { Conversation } from '../../api/types.ts'
import { Empty } from '../../show/empty.tsx'
import { MoreButton } from '../../show/more-button.tsx'
import { Page } from '../../show/page.tsx'
import { RunningTurns } from '../../show/running-turns.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { ConversationTable } from './conversation-table.tsx'
import { FilterBar } from './filter-bar.tsx'
import { isBackwards, isFiltered, noFilters, queryOf, readFilters, writeFilters } from './filter-query.ts'
import type { Filters } from './filter-query.ts'

export function Conversations() {
  const [params, setParams] = useSearchParams()
  const filters = readFilters(params)
  const change = (changed: Filters): void => setParams(writeFilters(changed))
  return (
    <Page
      title="Conversations"
      lead="Conversations between external users and your agents. A conversation contains all turns of one external user with one API key."
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
      <Found filters={filters} onClear={() => change(noFilters)} />
    </Page>
  )
}

function Found({ filters, onClear }: { filters: Filters; onClear: () => void }) {
  const backwards = isBackwards(filters)
  const list = useList<Conversation>(['conversations'], '/conversations', queryOf(filters), { enabled: !backwards })
  if (backwards) return <NothingFits onClear={onClear} />
  return (
    <Waiting for={list.query} what="conversations">
      {() =>
        list.items.length > 0 ? (
          <Stack>
            <ConversationTable conversations={list.items} />
            <MoreButton list={list} />
          </Stack>
        ) : isFiltered(filters) ? (
          <NothingFits onClear={onClear} />
        ) : (
          <Empty title="No conversations yet">
            A conversation starts with the first message of an external user. Send one in the{' '}
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
      }
    </Waiting>
  )
}

const NothingFits = ({ onClear }: { onClear: () => void }) => (
  <Empty
    title="No matching conversations"
    action={
      <Button variant="default" onClick={onClear}>
        Clear filters
      </Button>
    }
  >
    The external user ID must match exactly, and erased conversations no longer have one. Dates refer to when a conversation started.
  </Empty>
)
