/** Writes a complete ledger as CSV (RFC 4180), newest first. Reads one page at a time, so a long ledger neither fills memory nor delays the start. */
import type { Admin } from '../../admin/admin.ts'
import { writeTime, writeUsd } from './fields.ts'

type Page = Awaited<ReturnType<Admin['listLedger']>>
type List = (page: { limit: number; cursor: string | undefined }) => Promise<Page>

const columns = ['id', 'created_at', 'kind', 'amount_usd', 'written_off_usd', 'request_id', 'note']
// About 100 kB per page.
const entriesEach = 1000

/** Reads the first page before it resolves, so an ApiError of `list` rejects. An error on a later page breaks off the stream. */
export async function ledgerCsv(list: List): Promise<AsyncGenerator<string>> {
  const first = await list({ limit: entriesEach, cursor: undefined })
  return writePages(first, list)
}

async function* writePages(first: Page, list: List): AsyncGenerator<string> {
  yield line(columns)
  let page = first
  for (;;) {
    yield page.data.map(writeEntry).join('')
    if (page.nextCursor === null) return
    page = await list({ limit: entriesEach, cursor: page.nextCursor })
  }
}

const writeEntry = ({ id, createdAt, kind, amount, writtenOff, requestId, note }: Page['data'][number]): string =>
  line([id, writeTime(createdAt), kind, writeUsd(amount), writeUsd(writtenOff), requestId ?? '', asText(note ?? '')])

const line = (fields: string[]): string => `${fields.map(quote).join(',')}\r\n`
const quote = (field: string): string => (/[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field)

/** Prefixes a note that a spreadsheet would run as a formula. Amounts may start with a minus, but the service writes those itself. */
const asText = (note: string): string => (/^[=+\-@\t\r]/.test(note) ? `'${note}` : note)
