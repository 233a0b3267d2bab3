/** Prints the results of commands on stdout: as a table, or with `--json` as the API returned them. */
import { once } from 'node:events'
import { isFields } from '../admin-api/client.ts'
import type { AdminClient, Fields, Query } from '../admin-api/client.ts'
import type { CommandRun } from '../command-run.ts'
import { CommandFailed } from './command-failed.ts'
import { recordLines, tableFor } from './table.ts'
import type { Column } from './table.ts'

export type PrintOptions = { json?: true }

/** Prints one object of the API. */
export async function printRecord(run: CommandRun, fields: Fields, { json }: PrintOptions): Promise<void> {
  await write(run, json ? `${jsonText(fields, 2)}\n` : `${recordLines(fields).join('\n')}\n`)
}

/**
 * Prints a list page by page, so that a long list does not have to fit in memory. As JSON, the result is one `{data, next_cursor}` object.
 * `ifEmpty` is called before an empty list is printed, and may throw CommandFailed. `rowOf` returns what a table shows of an item.
 */
export async function printList(
  run: CommandRun,
  client: AdminClient,
  path: string,
  columns: Column[],
  options: PrintOptions & { limit?: number; query?: Query; ifEmpty?: () => Promise<void>; rowOf?: (item: Fields) => Fields },
): Promise<void> {
  const table = tableFor(run, columns)
  let count = 0
  let nextCursor: string | null = null
  for await (const page of client.pages(path, options.limit, options.query)) {
    if (options.json) {
      const items = page.data.map((item, index) => `${count + index === 0 ? '{"data":[\n' : ',\n'}${jsonText(item)}`)
      await write(run, items.join(''))
    } else if (page.data.length > 0) {
      await write(run, `${table.lines(options.rowOf ? page.data.map(options.rowOf) : page.data).join('\n')}\n`)
    }
    count += page.data.length
    nextCursor = page.nextCursor
  }
  if (count === 0) await options.ifEmpty?.()
  if (options.json) await write(run, `${count === 0 ? '{"data":[' : '\n'}],"next_cursor":${jsonText(nextCursor)}}\n`)
  else if (count === 0) tell(run, 'No results.')
}

/** Prints rows as a table. `none` is printed if there are no rows. */
export async function printTable(run: CommandRun, columns: Column[], rows: Fields[], none = 'No results.'): Promise<void> {
  if (rows.length === 0) return tell(run, none)
  await write(run, `${tableFor(run, columns).lines(rows).join('\n')}\n`)
}

/** Returns the items of a `{data}` response that is not paginated. Throws CommandFailed with code 2 if the response is not a list. */
export function listOf({ data }: Fields): Fields[] {
  if (Array.isArray(data) && data.every(isFields)) return data
  throw new CommandFailed(2, 'unexpected response: it is not a list. Check that the URL is that of a Turnkeep server of this version.')
}

/**
 * Serializes a value. Characters that could control a terminal or hide text are escaped as \uXXXX, which JSON.stringify does only below
 * U+0020. Parsing the result returns the same value.
 */
export function jsonText(value: unknown, indent?: number): string {
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(value, null, indent).replace(/[\u007f-\u009f]|\p{Cf}|\p{Zl}|\p{Zp}/gu, (found) =>
    found.split('').map(escaped).join(''),
  )
}

/** Writes to stdout and waits until a slow reader has caught up. */
export async function write({ stdout }: CommandRun, text: string): Promise<void> {
  if (!stdout.write(text)) await once(stdout, 'drain')
}

/** Writes a line to stdout without waiting: for a result of a limited number of lines. */
export function printLine({ stdout }: CommandRun, line: string): void {
  stdout.write(`${line}\n`)
}

/** Writes a response that is not JSON as it arrives. */
export async function printDownload({ stdout }: CommandRun, parts: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const part of parts) if (!stdout.write(part)) await once(stdout, 'drain')
}

/** Writes a line to stderr, for everything that is not the result. */
export function tell({ stderr }: CommandRun, line: string): void {
  stderr.write(`${line}\n`)
}
