/** One real service for the admin tests of a file, and shortcuts for their requests. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after } from 'node:test'
import { startTestApp } from './test-app.ts'
import type { Answer, Json, TestApp } from './test-app.ts'

/** Stopped when the tests of the file are over. */
export async function startAdminApp(): Promise<TestApp> {
  const app = await startTestApp()
  after(() => app.close())
  return app
}

/** Asserts an error envelope with a message that matches `words`. */
export async function refused(asked: Promise<Answer>, status: number, code: string, words = /./): Promise<void> {
  const { json, headers, status: seen, text } = await asked
  assert.deepEqual([seen, json.error?.code], [status, code], text)
  assert.match(json.error.message, words)
  assert.equal(json.error.request_id, headers.get('x-request-id'))
}

export const once = (): Record<string, string> => ({ 'idempotency-key': randomUUID() })

/** All items of a list, page by page. */
export async function allPages(app: TestApp, path: string, limit: number): Promise<Json[]> {
  const found: Json[] = []
  let cursor: string | null = null
  do {
    const query: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const page: Json = await app.made('GET', `${path}${path.includes('?') ? '&' : '?'}limit=${limit}${query}`)
    assert.ok(page.data.length <= limit)
    found.push(...page.data)
    cursor = page.next_cursor
  } while (cursor !== null)
  return found
}

/** Texts that no name field accepts; every one is a valid JSON string. */
export const badNames: Record<string, unknown> = {
  empty: '',
  NUL: 'a\u0000b',
  'a lone surrogate': 'a\ud800b',
  'too long': '😀'.repeat(201),
  'a number': 7,
  null: null,
  'a list': ['x'],
}
