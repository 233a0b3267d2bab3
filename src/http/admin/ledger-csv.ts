/** A whole ledger as CSV (RFC 4180), newest first, a page at a time: a long one neither fills memory nor waits for its end. */
import type { Admin } from '../../admin/admin.ts'
import { writeTime, writeUsd } from './fields.ts'

type Page = Awaited<ReturnType<Admin['listLedger']>>
type List = (page: { limit: number; cursor: string | undefined }) => Promise<Page>

const columns = ['id', 'created_at', 'kind', 'amount_usd', 'written_off_usd', 'request_id', 'note']
// Some 100 kB at a time.
const entriesEach = 1000

/** Reads the first page before it resolves, so an ApiError of `list` comes as a rejection; later ones break the stream. */
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

/** A note that a spreadsheet would run as a formula becomes text there; amounts, which may begin with a minus, are ours. */
const asText = (note: string): string => (/^[=+\-@\t\r]/.test(note) ? `'${note}` : note)
