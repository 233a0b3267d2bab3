/** One end user of an agent: spend, feedback and conversations, the export of all data, and the erasure. */
import { Anchor, Button, Stack, Table, Text, Title } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useSearchParams } from 'wouter'
import { call, segment, send } from '../../api/client.ts'
import { useAgents } from '../../api/lists.ts'
import type { EndUserDetail } from '../../api/types.ts'
import { Empty } from '../../show/empty.tsx'
import { EraseEndUser } from '../../show/erase.tsx'
import { FailureNote } from '../../show/failure-note.tsx'
import { Figure, Figures } from '../../show/figure.tsx'
import { IdText } from '../../show/id-text.tsx'
import { writeCount } from '../../show/measures.ts'
import { Moment } from '../../show/moment.tsx'
import { Money } from '../../show/money.tsx'
import type { Crumb } from '../../show/page.tsx'
import { Page } from '../../show/page.tsx'
import { saveFile, slugOf } from '../../show/save-file.ts'
import { Waiting } from '../../show/waiting.tsx'
import { ListTable } from '../../show/list-table.tsx'
import { Allowed } from '../../show/allowed.tsx'

export function EndUserPage({ agentId }: { agentId: string }) {
  const [params] = useSearchParams()
  const user = params.get('external_user_id') ?? ''
  const [isErased, setErased] = useState(false)
  if (user === '' || isErased)
    return (
      <Page title={isErased ? 'End user erased' : 'No end user'} trail={trailOf(agentId)}>
        <Empty title={isErased ? 'Erased' : 'The address names no end user'}>
          {isErased ? 'Texts and the name were removed. Charges and usage are kept without them.' : 'Choose one from the list.'}
        </Empty>
      </Page>
    )
  return <Known key={user} agentId={agentId} user={user} onErased={() => setErased(true)} />
}

type KnownProps = { agentId: string; user: string; onErased: () => void }

function Known({ agentId, user, onErased }: KnownProps) {
  const client = useQueryClient()
  const agent = useAgents().data?.find(({ id }) => id === agentId)
  const path = `/agents/${segment(agentId)}/end-users`
  const query = { external_user_id: user }
  const [isAsking, setAsking] = useState(false)
  const detail = useQuery({
    queryKey: ['end-users', agentId, 'one', user],
    queryFn: ({ signal }) => call<EndUserDetail>(`${path}/detail`, { query, signal }),
  })
  const download = useMutation({
    mutationFn: async () => saveFile(await (await send(`${path}/export`, { query })).blob(), `${slugOf(user) || 'end-user'}.ndjson`),
  })
  return (
    <Page
      title={user}
      trail={trailOf(agentId, agent?.name)}
      lead={<>End user of {agent?.name ?? <IdText id={agentId} />}</>}
      actions={
        detail.data ? (
          <>
            <Button
              component={Link}
              variant="default"
              href={`/turns?${new URLSearchParams({ agent_id: agentId, external_user_id: user }).toString()}`}
            >
              Traces
            </Button>
            <Allowed permission="conversations">
              <SearchMessages agentId={agentId} user={user} />
              <Button variant="default" loading={download.isPending} onClick={() => download.mutate()}>
                Export data
              </Button>
            </Allowed>
            <Allowed permission="erase">
              <Button variant="default" color="red" onClick={() => setAsking(true)}>
                Erase end user
              </Button>
            </Allowed>
          </>
        ) : null
      }
    >
      <FailureNote error={download.error} title="Could not export the data" />
      {isAsking ? (
        <EraseEndUser
          agentId={agentId}
          externalUserId={user}
          onClose={() => setAsking(false)}
          onErased={() => {
            onErased()
            // Erased text is also removed from this page's memory.
            for (const noun of ['end-users', 'conversations', 'turns', 'feedback']) client.removeQueries({ queryKey: [noun] })
          }}
        />
      ) : null}
      <Waiting for={detail} what="the end user">
        {(found) => <Detail found={found} />}
      </Waiting>
    </Page>
  )
}

/** Opens the list of conversations, where the messages of this user can be searched. */
const SearchMessages = ({ agentId, user }: { agentId: string; user: string }) => (
  <Button
    component={Link}
    href={`/conversations?${new URLSearchParams({ agent_id: agentId, external_user_id: user }).toString()}`}
    variant="default"
  >
    Search messages
  </Button>
)

const trailOf = (agentId: string, agentName = 'Agent'): Crumb[] => [
  { href: '/end-users', label: 'End users' },
  { href: `/end-users/${segment(agentId)}`, label: agentName },
]

const spendLabels = { day: 'Today (UTC)', month: 'This month (UTC)', total: 'All time' } as const

function Detail({ found }: { found: EndUserDetail }) {
  return (
    <Stack gap="lg">
      <Figures>
        {(['day', 'month', 'total'] as const).map((window) => (
          <Figure key={window} label={spendLabels[window]} note={turnsText(found.spend[window].turns)}>
            <Money amount={found.spend[window].spent_usd} />
          </Figure>
        ))}
        <Figure label="Feedback" note="up and down">
          {writeCount(found.feedback.up)} / {writeCount(found.feedback.down)}
        </Figure>
      </Figures>
      <Stack component="section" aria-label="Conversations" gap="xs">
        <Title order={2} size="h4">
          Conversations
        </Title>
        <Text size="sm" c="dimmed" component="div">
          One for each API key through which this end user has written. The last turn ended: <Moment at={found.last_activity_at} />
        </Text>
        <ListTable minWidth={720} verticalSpacing="sm" highlightOnHover aria-label="Conversations">
          <Table.Thead>
            <Table.Tr>
              <Table.Th scope="col">Conversation</Table.Th>
              <Table.Th scope="col" ta="right">
                Messages
              </Table.Th>
              <Table.Th scope="col">Last message</Table.Th>
              <Table.Th scope="col">API key</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {found.conversations.map(({ id, key_id: keyId, last_message_at: last, message_count: count }) => (
              <Table.Tr key={id} className="open-row">
                <Table.Th scope="row" fw={500}>
                  <Anchor component={Link} href={`/conversations/${segment(id)}`} size="xs" ff="monospace">
                    {id}
                  </Anchor>
                </Table.Th>
                <Table.Td ta="right" className="figures">
                  {writeCount(count)}
                </Table.Td>
                <Table.Td>
                  <Moment at={last} />
                </Table.Td>
                <Table.Td>
                  <Text span size="xs" ff="monospace" style={{ whiteSpace: 'nowrap' }}>
                    {keyId}
                  </Text>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </ListTable>
      </Stack>
    </Stack>
  )
}

const turnsText = (turns: number): string => (turns === 1 ? '1 turn' : `${writeCount(turns)} turns`)
