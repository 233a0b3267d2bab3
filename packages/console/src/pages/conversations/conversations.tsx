/** All conversations, newest first, by agent, key, external user and time. The filters stand in the address, so that a view can be kept and handed on. */
import { Anchor, Button, Stack } from '@mantine/core'
import { Link, useSearchParams } from 'wouter'
import { useList } from '../../api/lists.ts'
import type { Conversation } from '../../api/types.ts'
import { Empty } from '../../show/empty.tsx'
import { MoreButton } from '../../show/more-button.tsx'
import { Page } from '../../show/page.tsx'
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
      lead="What external users and agents have said to each other. A conversation is all turns of one external user through one key."
    >
      <FilterBar filters={filters} onChange={change} />
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
          <Empty title="No conversation yet">
            The first message of an external user begins one. Say something in the{' '}
            <Anchor component={Link} href="/playground" inherit underline="always">
              playground
            </Anchor>
            , or call an agent with a{' '}
            <Anchor component={Link} href="/keys" inherit underline="always">
              key
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
    title="No conversation fits"
    action={
      <Button variant="default" onClick={onClear}>
        Show all conversations
      </Button>
    }
  >
    The external user id is compared letter by letter. An erased conversation has none any more, and the days are those on which a
    conversation began.
  </Empty>
)
