/** Every price that an agent had, newest first, with the version in which it became that of new turns. */
import { Stack, Table, Title } from '@mantine/core'
import { segment } from '../../../api/client.ts'
import { useList } from '../../../api/lists.ts'
import type { Agent, PriceOfVersion } from '../../../api/types.ts'
import { Moment } from '../../../show/moment.tsx'
import { MoreButton } from '../../../show/more-button.tsx'
import { describeSource } from '../../../show/price-calculation.tsx'
import { shortAmount } from '../../../show/short-amount.ts'
import { Waiting } from '../../../show/waiting.tsx'
import { ListTable } from '../../../show/list-table.tsx'

export function Prices({ agent }: { agent: Agent }) {
  const list = useList<PriceOfVersion>(['agents', agent.id, 'prices'], `/agents/${segment(agent.id)}/prices`)
  return (
    <Stack gap="xs">
      <Title order={2} size="h5">
        Prices in USD per million tokens
      </Title>
      <Waiting for={list.query} what="prices">
        {() => (
          <>
            <ListTable minWidth={720} aria-label="Prices">
              <Table.Thead>
                <Table.Tr>
                  {['Version', 'Since', 'Prompt', 'Cached prompt', 'Cache write', 'Completion', 'Source'].map((title) => (
                    <Table.Th key={title} scope="col">
                      {title}
                    </Table.Th>
                  ))}
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {list.items.map(({ version, created_at: at, price, price_source: source }) => (
                  <Table.Tr key={version}>
                    <Table.Th scope="row">{version}</Table.Th>
                    <Table.Td>
                      <Moment at={at} />
                    </Table.Td>
                    {[
                      price.prompt_usd_per_million,
                      price.cached_prompt_usd_per_million,
                      price.cache_write_usd_per_million,
                      price.completion_usd_per_million,
                    ].map((amount, index) => (
                      <Table.Td key={index} className="figures">
                        {amount === null ? 'as prompt' : shortAmount(amount)}
                      </Table.Td>
                    ))}
                    <Table.Td className="as-written">{describeSource(source).replace(/^, /, '') || '–'}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </ListTable>
            <MoreButton list={list} />
          </>
        )}
      </Waiting>
    </Stack>
  )
}
