/**
 * Reports as CSV (RFC 4180, `export.csv`): the ledger, usage by group, and the audit log. Columns are never renamed or moved; new ones are added at the end.
 * Reads one part at a time, so a long report neither fills memory nor delays the start.
 */
import type { AdminCalls } from '../../admin/admin.ts'
import { writeTime, writeUsd } from './fields.ts'

type LedgerEntry = Awaited<ReturnType<AdminCalls['listLedger']>>['data'][number]
type AuditEntry = Awaited<ReturnType<AdminCalls['listAudit']>>['data'][number]
type UsageLines = Awaited<ReturnType<AdminCalls['readUsageLines']>>
type UsageLine = Awaited<ReturnType<AdminCalls['listUsageLines']>>['data'][number]

export const ledgerColumns = [
  'id',
  'created_at',
  'kind',
  'amount_usd',
  'written_off_usd',
  'request_id',
  'note',
  'owner_id',
  'agent_id',
  'key_id',
  'conversation_id',
  'external_user_id',
]
export const usageColumns = [
  'month',
  'day',
  'owner_id',
  'owner_name',
  'agent_id',
  'agent_name',
  'key_id',
  'key_name',
  'external_user_id',
  'erased_conversation_id',
  'turns',
  'completed',
  'failed',
  'released',
  'cancelled',
  'prompt_tokens',
  'completion_tokens',
  'charged_usd',
  'written_off_usd',
  'unpaid_usd',
]

export const auditColumns = [
  'id',
  'created_at',
  'who',
  'author_id',
  'author_name',
  'verb',
  'noun',
  'subject_id',
  'fields',
  'changes',
  'request_id',
]

export const wantsCsv = (accept = ''): boolean => /^\s*text\/csv\b/i.test(accept)

// About 200 kB.
const entriesEach = 1000

type Listed<Item> = { data: Item[]; nextCursor: string | null }
/** Reads one page of a list. */
type List<Item> = (page: { limit: number; cursor: string | undefined }) => Promise<Listed<Item>>

export const ledgerCsv = (list: List<LedgerEntry>): Promise<AsyncGenerator<string>> => listCsv(list, ledgerColumns, writeEntry)
export const auditCsv = (list: List<AuditEntry>): Promise<AsyncGenerator<string>> => listCsv(list, auditColumns, writeAuditEntry)

/** In the order of the list. Reads the first page before it resolves, so an ApiError of `list` rejects. An error on a later page breaks off the stream. */
async function listCsv<Item>(list: List<Item>, columns: string[], write: (item: Item) => string): Promise<AsyncGenerator<string>> {
  const first = await list({ limit: entriesEach, cursor: undefined })
  return (async function* () {
    yield csvLine(columns)
    for (let page = first; ; page = await list({ limit: entriesEach, cursor: page.nextCursor! })) {
      yield page.data.map(write).join('')
      if (page.nextCursor === null) return
    }
  })()
}

export async function* usageCsv(lines: UsageLines): AsyncGenerator<string> {
  yield csvLine(usageColumns)
  for await (const part of lines)
    for (let at = 0; at < part.length; at += entriesEach)
      yield part
        .slice(at, at + entriesEach)
        .map(writeUsage)
        .join('')
}

const writeEntry = (entry: LedgerEntry): string =>
  csvLine([
    entry.id,
    writeTime(entry.createdAt),
    entry.kind,
    writeUsd(entry.amount),
    writeUsd(entry.writtenOff),
    entry.requestId,
    asText(entry.note),
    entry.ownerId,
    entry.agentId,
    entry.apiKeyId,
    entry.conversationId,
    asText(entry.externalUserId),
  ])

const writeAuditEntry = (entry: AuditEntry): string =>
  csvLine([
    entry.id,
    writeTime(entry.createdAt),
    entry.who,
    entry.authorId,
    asText(entry.authorName),
    entry.verb,
    entry.noun,
    // Of a passkey, its authenticator chose the ID.
    // mutant: export.csv
    asText(entry.subjectId),
    asText(entry.fields.join(' ')),
    // JSON, which starts with a brace.
    entry.changes && JSON.stringify(entry.changes),
    entry.requestId,
  ])

const writeUsage = (line: UsageLine): string =>
  csvLine([
    line.month,
    line.day,
    line.ownerId,
    asText(line.ownerName),
    line.agentId,
    asText(line.agentName),
    line.apiKeyId,
    asText(line.keyName),
    asText(line.externalUserId),
    line.erasedConversationId,
    ...[line.turns, line.completed, line.failed, line.released, line.cancelled, line.promptTokens, line.completionTokens].map(String),
    writeUsd(line.charged),
    writeUsd(line.writtenOff),
    writeUsd(line.unpaid),
  ])

const csvLine = (fields: (string | null)[]): string => `${fields.map((field) => quote(field ?? '')).join(',')}\r\n`
const quote = (field: string): string => (/[",\r\n]/.test(field) ? `"${field.replaceAll('"', '""')}"` : field)

/**
 * `export.csv`: prefixes a text that a spreadsheet would run as a formula with an apostrophe, and also one that starts with an apostrophe. So
 * removing one apostrophe from the start of a text field always returns the text. Amounts may start with a minus, but callers do not write them.
 */
const asText = (text: string | null): string | null => (text !== null && /^['=+\-@\t\r\n＝＋－＠]/.test(text) ? `'${text}` : text)
