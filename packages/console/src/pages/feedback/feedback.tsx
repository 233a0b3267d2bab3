/** The feedback of end users on turns, the newest changes first, by agent, rating and tag. The filters are in the address. */
import { Button, Stack } from '@mantine/core'
import { useSearchParams } from 'wouter'
import { useList } from '../../api/lists.ts'
import { useSession } from '../../api/session.ts'
import type { Feedback } from '../../api/types.ts'
import { Empty } from '../../show/empty.tsx'
import { MoreButton } from '../../show/more-button.tsx'
import { Page } from '../../show/page.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { FeedbackFilters } from './feedback-filters.tsx'
import { FeedbackTable } from './feedback-table.tsx'
import { isFiltered, noFilters, readFilters, writeFilters } from './filters.ts'
import type { Filters } from './filters.ts'

export function FeedbackPage() {
  const [params, setParams] = useSearchParams()
  const filters = readFilters(params)
  const change = (changed: Filters): void => setParams(writeFilters(changed))
  return (
    <Page title="Feedback" lead="What end users thought of replies, as callers sent it. The last feedback on a turn counts.">
      <FeedbackFilters filters={filters} onChange={change} />
      <Found filters={filters} onClear={() => change(noFilters)} />
    </Page>
  )
}

function Found({ filters, onClear }: { filters: Filters; onClear: () => void }) {
  const list = useList<Feedback>(['feedback'], '/feedback', filters)
  const apiUrl = useSession().data?.session.api_url ?? ''
  return (
    <Waiting for={list.query} what="feedback">
      {() =>
        list.items.length > 0 ? (
          <Stack>
            <FeedbackTable feedback={list.items} />
            <MoreButton list={list} />
          </Stack>
        ) : isFiltered(filters) ? (
          <Empty
            title="No matching feedback"
            action={
              <Button variant="default" onClick={onClear}>
                Clear filters
              </Button>
            }
          >
            A tag must match exactly. Erased conversations have no feedback.
          </Empty>
        ) : (
          <Empty
            title="No feedback yet"
            action={
              <Button component="a" href={`${apiUrl}/docs`} variant="default">
                Open API docs
              </Button>
            }
          >
            Feedback is what an end user thought of a reply: up or down, a comment, tags. Your program sends it to the feedback endpoint of
            the turn.
          </Empty>
        )
      }
    </Waiting>
  )
}
