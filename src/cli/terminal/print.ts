/** How the commands' answers leave by stdout: as tables for a person, or with `--json` as the API gave them. Knows no command. */
import { once } from 'node:events'
import { isFields } from '../admin-api/client.ts'
import type { AdminClient, Fields, Query } from '../admin-api/client.ts'
import { CommandFailed } from './command-failed.ts'
import { Table, recordLines } from './table.ts'
import type { Column } from './table.ts'

export type PrintOptions = { json?: true }

/** One thing of the API. */
export async function printRecord(fields: Fields, { json }: PrintOptions): Promise<void> {
  await write(json ? `${jsonText(fields, 2)}\n` : `${recordLines(fields).join('\n')}\n`)
}

/** A whole list as its pages come, so that a long one neither fills memory nor waits for its end. As JSON it is one `{data, next_cursor}`. */
export async function printList(
  client: AdminClient,
  path: string,
  columns: Column[],
  options: PrintOptions & { limit?: number; query?: Query },
): Promise<void> {
  const table = new Table(columns)
  let count = 0
  let nextCursor: string | null = null
  for await (const page of client.pages(path, options.limit, options.query)) {
    if (options.json) {
      const items = page.data.map((item, index) => `${count + index === 0 ? '{"data":[\n' : ',\n'}${jsonText(item)}`)
      await write(items.join(''))
    } else if (page.data.length > 0) {
      await write(`${table.lines(page.data).join('\n')}\n`)
    }
    count += page.data.length
    nextCursor = page.nextCursor
  }
  if (options.json) await write(`${count === 0 ? '{"data":[' : '\n'}],"next_cursor":${jsonText(nextCursor)}}\n`)
  else if (count === 0) tell('There are none.')
}

/** What is whole already, as a table; `none` is said where there is nothing. */
export async function printTable(columns: Column[], rows: Fields[], none = 'There are none.'): Promise<void> {
  if (rows.length === 0) return tell(none)
  await write(`${new Table(columns).lines(rows).join('\n')}\n`)
}

/** The things of an answer `{data}` that is no page. */
export function listOf({ data }: Fields): Fields[] {
  if (Array.isArray(data) && data.every(isFields)) return data
  throw new CommandFailed(2, 'the answer is no list: is this the address of Turnkeep, and of this version?')
}

/** Parsed, it is the same; what could steer a terminal or hide something is written as \uXXXX, which JSON.stringify does below U+0020 alone. */
export function jsonText(value: unknown, indent?: number): string {
  const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(value, null, indent).replace(/[\u007f-\u009f]|\p{Cf}|\p{Zl}|\p{Zp}/gu, (found) =>
    found.split('').map(escaped).join(''),
  )
}

/** To stdout, at the pace of whoever reads it. */
export async function write(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain')
}

/** To stderr: what is said beside the answer. */
export function tell(line: string): void {
  process.stderr.write(`${line}\n`)
}
