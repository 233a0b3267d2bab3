/** The end users of an agent, by spend or last activity, of the current day or month or of all time. The selection is in the address. */
import { Anchor, Button, Group, Select, Stack, Table } from '@mantine/core'
import { Link, useLocation, useSearchParams } from 'wouter'
import { segment } from '../../api/client.ts'
import { useList } from '../../api/lists.ts'
import type { EndUser } from '../../api/types.ts'
import { AgentSelect } from '../../show/agent-select.tsx'
import { Empty } from '../../show/empty.tsx'
import { writeCount } from '../../show/measures.ts'
import { Moment } from '../../show/moment.tsx'
import { Money } from '../../show/money.tsx'
import { MoreButton } from '../../show/more-button.tsx'
import { Page } from '../../show/page.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { pathOfEndUser } from '../../show/end-user-path.ts'
import { readAsked, sorts, windows } from './asked.ts'
import type { Asked } from './asked.ts'
import { EndUserPage } from './end-user.tsx'
import { ListTable } from '../../show/list-table.tsx'

/** With `one`, the page of one of them, whose name is in the query: it may be any text. */
export function EndUsers({ agentId, one = false }: { agentId: string | undefined; one?: boolean }) {
  return one && agentId !== undefined ? <EndUserPage key={agentId} agentId={agentId} /> : <ListPage agentId={agentId} />
}

function ListPage({ agentId }: { agentId: string | undefined }) {
  const [, navigate] = useLocation()
  const [params, setParams] = useSearchParams()
  const asked = readAsked(params)
  const change = (changed: Partial<Asked>): void => setParams({ ...asked, ...changed }, { replace: true })
  return (
    <Page
      title="End users"
      lead="Everyone who has written to an agent, with what their turns were charged. The API keys of an agent share its end users."
    >
      <Group align="flex-end">
        <AgentSelect
          value={agentId ?? null}
          onChange={(id) => navigate(id === null ? '/end-users' : `/end-users/${segment(id)}?${params}`)}
        />
        {agentId === undefined ? null : (
          <>
            <Select
              label="Period"
              data={windows}
              value={asked.window}
              allowDeselect={false}
              onChange={(value) => change({ window: readAsked(new URLSearchParams({ window: value ?? '' })).window })}
            />
            <Select
              label="Sort by"
              data={sorts}
              value={asked.sort}
              allowDeselect={false}
              onChange={(value) => change({ sort: readAsked(new URLSearchParams({ sort: value ?? '' })).sort })}
            />
          </>
        )}
      </Group>
      {agentId === undefined ? (
        <Empty
          title="Choose an agent"
          action={
            <Anchor component={Link} href="/conversations" underline="always">
              Find an end user of any agent
            </Anchor>
          }
        >
          Each agent has its own end users. To search all agents, filter conversations by end user ID.
        </Empty>
      ) : (
        <Found agentId={agentId} asked={asked} onAllTime={() => change({ window: 'total' })} />
      )}
    </Page>
  )
}

function Found({ agentId, asked, onAllTime }: { agentId: string; asked: Asked; onAllTime: () => void }) {
  const list = useList<EndUser>(['end-users', agentId], `/agents/${segment(agentId)}/end-users`, asked)
  return (
    <Waiting for={list.query} what="end users">
      {() =>
        list.items.length === 0 ? (
          <Empty
            title={asked.window === 'total' ? 'No end users yet' : 'No end users in this period'}
            action={
              asked.window === 'total' ? (
                <Button component={Link} href={`/playground/${segment(agentId)}`}>
                  Send a message
                </Button>
              ) : (
                <Button variant="default" onClick={onAllTime}>
                  Show all time
                </Button>
              )
            }
          >
            An end user is whoever your program names as external_user_id. They are listed when a turn of theirs has ended, until they are
            erased.
          </Empty>
        ) : (
          <Stack>
            <EndUserTable agentId={agentId} users={list.items} />
            <MoreButton list={list} />
          </Stack>
        )
      }
    </Waiting>
  )
}

function EndUserTable({ agentId, users }: { agentId: string; users: EndUser[] }) {
  return (
    <ListTable minWidth={640} verticalSpacing="sm" highlightOnHover aria-label="End users">
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">End user</Table.Th>
          <Table.Th scope="col" ta="right">
            Spent
          </Table.Th>
          <Table.Th scope="col" ta="right">
            Turns
          </Table.Th>
          <Table.Th scope="col" ta="right">
            Feedback up / down
          </Table.Th>
          <Table.Th scope="col">Last activity</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {users.map(({ external_user_id: user, spent_usd: spent, turns, feedback, last_activity_at: last }) => (
          <Table.Tr key={user} className="open-row">
            <Table.Th scope="row" fw={500} maw={320}>
              <Anchor component={Link} href={pathOfEndUser(agentId, user)} inherit className="as-written">
                {user}
              </Anchor>
            </Table.Th>
            <Table.Td ta="right">
              <Money amount={spent} />
            </Table.Td>
            <Table.Td ta="right" className="figures">
              {writeCount(turns)}
            </Table.Td>
            <Table.Td ta="right" className="figures">
              {writeCount(feedback.up)} / {writeCount(feedback.down)}
            </Table.Td>
            <Table.Td>
              <Moment at={last} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </ListTable>
  )
}
