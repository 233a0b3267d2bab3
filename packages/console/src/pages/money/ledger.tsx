/**
 * An owner's ledger, newest first: credits and adjustments by the operator, one charge for each completed turn. The filters are in the
 * address, and also those of the CSV.
 */
import { Button, Group, Select, Stack, Table, Text, TextInput } from '@mantine/core'
import { useSearchParams } from 'wouter'
import { segment } from '../../api/client.ts'
import { useAgents, useList } from '../../api/lists.ts'
import type { LedgerEntry, Owner } from '../../api/types.ts'
import { Empty } from '../../show/empty.tsx'
import { Moment } from '../../show/moment.tsx'
import { Money } from '../../show/money.tsx'
import { MoreButton } from '../../show/more-button.tsx'
import { Panel } from '../../show/panel.tsx'
import { Waiting } from '../../show/waiting.tsx'
import { LedgerCsv } from './ledger-csv.tsx'
import { isFiltered, kindLabels, ledgerQuery, noLedgerFilters, readLedgerFilters, writeLedgerFilters } from './ledger-filters.ts'
import type { LedgerFilters } from './ledger-filters.ts'
import { TurnLink } from './turn-link.tsx'
import { ListTable } from '../../show/list-table.tsx'

const nothing = '0.00000000'

export function Ledger({ owner }: { owner: Owner }) {
  const [params, setParams] = useSearchParams()
  const filters = readLedgerFilters(params)
  const query = ledgerQuery(filters)
  const change = (changed: Partial<LedgerFilters>): void => setParams(writeLedgerFilters({ ...filters, ...changed }), { replace: true })
  return (
    <Panel title="Ledger" aside={query ? <LedgerCsv owner={owner} query={query} days={filters} /> : null}>
      <FilterRow owner={owner} filters={filters} onChange={change} />
      {query ? <Entries owner={owner} filters={filters} query={query} onClear={() => change(noLedgerFilters)} /> : null}
    </Panel>
  )
}

type FilterRowProps = { owner: Owner; filters: LedgerFilters; onChange: (changed: Partial<LedgerFilters>) => void }

function FilterRow({ owner, filters, onChange }: FilterRowProps) {
  const agents = useAgents().data?.filter(({ owner_id: payer }) => payer === owner.id) ?? []
  const isWrong = ledgerQuery(filters) === null
  return (
    <Group gap="sm" align="flex-start" className="panel-body" component="search" aria-label="Ledger">
      <Select
        label="Kind"
        size="xs"
        placeholder="All kinds"
        data={Object.entries(kindLabels).map(([value, label]) => ({ value, label }))}
        value={filters.kind}
        // Only charges belong to an agent.
        onChange={(kind) => onChange({ kind: kind as LedgerFilters['kind'], ...(kind === 'charge' || !kind ? {} : { agentId: null }) })}
        clearable
        clearButtonProps={{ 'aria-label': 'Clear kind', 'aria-hidden': false, tabIndex: 0 }}
        w={150}
      />
      <Select
        label="Agent"
        size="xs"
        placeholder="All agents"
        data={agents.map(({ id, name }) => ({ value: id, label: name }))}
        value={filters.agentId}
        onChange={(agentId) => onChange({ agentId, ...(agentId && filters.kind !== 'charge' ? { kind: null } : {}) })}
        clearable
        clearButtonProps={{ 'aria-label': 'Clear agent', 'aria-hidden': false, tabIndex: 0 }}
        w={200}
      />
      <TextInput
        type="date"
        size="xs"
        label="From (UTC)"
        value={filters.from}
        onChange={(event) => onChange({ from: event.currentTarget.value })}
      />
      <TextInput
        type="date"
        size="xs"
        label="To (UTC)"
        value={filters.to}
        error={isWrong ? 'The end date is before the start date.' : undefined}
        onChange={(event) => onChange({ to: event.currentTarget.value })}
      />
    </Group>
  )
}

type EntriesProps = { owner: Owner; filters: LedgerFilters; query: NonNullable<ReturnType<typeof ledgerQuery>>; onClear: () => void }

function Entries({ owner, filters, query, onClear }: EntriesProps) {
  const list = useList<LedgerEntry>(['ledger', owner.id], `/owners/${segment(owner.id)}/ledger`, query)
  return (
    <Waiting for={list.query} what="the ledger">
      {() =>
        list.items.length > 0 ? (
          <>
            <EntryTable entries={list.items} />
            <div className="panel-body">
              <MoreButton list={list} />
            </div>
          </>
        ) : isFiltered(filters) ? (
          <Empty
            title="No matching ledger entries"
            action={
              <Button variant="default" onClick={onClear}>
                Clear filters
              </Button>
            }
          >
            Change the filters, or show the whole ledger.
          </Empty>
        ) : (
          <Empty title="No ledger entries yet">Add credit above. Agents reply only while their owner has an available balance.</Empty>
        )
      }
    </Waiting>
  )
}

function EntryTable({ entries }: { entries: LedgerEntry[] }) {
  return (
    <Stack gap="xs">
      <ListTable minWidth={760} aria-label="Ledger, newest first" horizontalSpacing="md">
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">Time</Table.Th>
            <Table.Th scope="col">Kind</Table.Th>
            <Table.Th scope="col" ta="right">
              Amount
            </Table.Th>
            <Table.Th scope="col" ta="right">
              Written off
            </Table.Th>
            <Table.Th scope="col">Note</Table.Th>
            <Table.Th scope="col">Turn</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {entries.map((entry) => (
            <EntryRow key={entry.id} entry={entry} />
          ))}
        </Table.Tbody>
      </ListTable>
    </Stack>
  )
}

function EntryRow({ entry }: { entry: LedgerEntry }) {
  return (
    <Table.Tr>
      <Table.Td>
        <Moment at={entry.created_at} />
      </Table.Td>
      <Table.Td>{kindLabels[entry.kind]}</Table.Td>
      <Table.Td ta="right">
        <Money amount={entry.amount_usd} />
      </Table.Td>
      <Table.Td ta="right">{entry.written_off_usd === nothing ? '–' : <Money amount={entry.written_off_usd} />}</Table.Td>
      <Table.Td maw={280}>
        <Text size="sm" className="as-written">
          {entry.note ?? '–'}
        </Text>
      </Table.Td>
      <Table.Td>{entry.request_id ? <TurnLink requestId={entry.request_id} /> : '–'}</Table.Td>
    </Table.Tr>
  )
}
