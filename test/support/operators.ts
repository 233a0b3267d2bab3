/** Operators of a running service, as they sign in at the console: each with a browser, that is cookies and the headers of the console. */
import assert from 'node:assert/strict'
import { byPage, visit } from './console-visitor.ts'
import type { Visit, Visited } from './console-visitor.ts'
import type { Json, TestApp } from './test-app.ts'

export const goodPassword = 'a lamp in the attic'

/** Invites an operator and returns the token of its link. */
export async function invite(app: TestApp, more: Json = {}): Promise<{ id: string; token: string; email: string }> {
  const email = `${crypto.randomUUID()}@acme.example`
  const made = await app.made('POST', '/operators', { email, name: 'Ada', role: 'admin', ...more })
  return { id: made.id, token: tokenOf(made.invitation_url), email: made.email }
}

export const tokenOf = (url: string): string => new URL(url).hash.slice(1)

/** A browser at the console. It sends the cookies that it got, and only to the paths that they are for. */
export class ConsoleBrowser {
  readonly url: string
  readonly from: string | undefined
  readonly cookies = new Map<string, { value: string; path: string }>()

  constructor(url: string, from?: string) {
    this.url = url
    this.from = from
  }

  async ask(method: string, path: string, body?: Json, headers: Record<string, string> = {}): Promise<Visited> {
    const at = `/admin/v1${path}`
    const sent = [...this.cookies].flatMap(([name, { value, path: scope }]) => (at.startsWith(scope) ? [`${name}=${value}`] : []))
    const given: Visit = { method, headers: { ...byPage(this.url), ...(sent.length > 0 && { cookie: sent.join('; ') }), ...headers } }
    const answer = await visit(this.url, at, { ...given, ...(body && { body }), ...(this.from !== undefined && { from: this.from }) })
    for (const line of [answer.headers['set-cookie'] ?? []].flat()) this.#store(line)
    return answer
  }

  /** The JSON of the response. Fails the test if the request did not succeed. */
  async made(method: string, path: string, body?: Json): Promise<Json> {
    const answer = await this.ask(method, path, body)
    assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`)
    return answer.json
  }

  #store(line: string): void {
    const [pair = '', ...attributes] = line.split('; ')
    const [name = '', value = ''] = pair.split('=')
    const path = attributes.find((one) => one.startsWith('Path='))!.slice(5)
    if (attributes.includes('Max-Age=0')) this.cookies.delete(name)
    else this.cookies.set(name, { value, path })
  }
}

export type SignedIn = { browser: ConsoleBrowser; id: string; email: string }

/** An operator with a password that has accepted its invitation in a browser. */
export async function startOperator(app: TestApp, more: Json = {}): Promise<SignedIn> {
  const { id, token, email } = await invite(app, more)
  const browser = new ConsoleBrowser(app.adminUrl)
  await browser.made('POST', '/session/invitation', { token, password: goodPassword })
  return { browser, id, email }
}

/** Asserts an error envelope. Returns its message. */
export function refusedWith({ status, json, text, headers }: Visited, expected: number, code: string, words = /./): string {
  assert.deepEqual([status, json['error']?.code], [expected, code], text)
  assert.match(json['error'].message, words)
  assert.equal(headers['set-cookie'], undefined)
  return json['error'].message
}

/** How many sessions the operator has. */
export const sessionsOf = async (app: TestApp, id: string): Promise<number> =>
  Number((await app.query(`select count(*) as n from console_sessions where operator_id = '${id}'`))[0]!['n'])
