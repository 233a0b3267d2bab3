/**
 * `operator.ends-streams`: what is open in the admin API ends when its caller loses the access, however it does, also at another process. On
 * PostgreSQL a second app on the same database makes the change; SQLite has one process.
 */
import assert from 'node:assert/strict'
import { Agent, request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { after, before, test } from 'node:test'
import { byPage } from '../support/console-visitor.ts'
import { gate } from '../support/model-server.ts'
import type { Gate } from '../support/model-server.ts'
import { ConsoleBrowser, goodPassword, invite } from '../support/operators.ts'
import { storeKind } from '../support/store-under-test.ts'
import { adminToken, makeFolder, parseEvents, startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'
import { until } from '../support/until.ts'

let app: TestApp
/** Where access is changed: another process, if the store allows one. */
let other: TestApp
let ended: string
// A caller that keeps its connection open has not left.
const agent = new Agent({ keepAlive: true })

before(async () => {
  const folder = await makeFolder()
  app = await startTestApp({ folder })
  other = storeKind === 'postgres' ? await startTestApp({ folder: await makeFolder(), model: app.model, seeded: app }) : app
  app.model.when('ended', 'It has ended.')
  ended = (await app.chat('ended')).json.request_id
})

after(async () => {
  agent.destroy()
  await app.verify()
  if (other !== app) await other.close()
  await app.close()
})

type Principal = { headers: Record<string, string>; id: string; browser?: ConsoleBrowser }

/** An operator who has signed in in a browser. */
async function operator(): Promise<Principal> {
  const { id, token, email } = await invite(app, { role: 'editor' })
  const browser = new ConsoleBrowser(app.adminUrl)
  await browser.made('POST', '/session/invitation', { token, password: goodPassword })
  assert.ok(email)
  return { id, browser, headers: { ...byPage(app.adminUrl), cookie: cookieOf(browser) } }
}

const cookieOf = ({ cookies }: ConsoleBrowser): string => `turnkeep_session=${cookies.get('turnkeep_session')!.value}`

async function program(more: Json = {}): Promise<Principal> {
  const made = await app.made('POST', '/tokens', { name: 'CI', role: 'editor', ...more })
  return { id: made.id, headers: { authorization: `Bearer ${made.token}` } }
}

async function adminInBrowser(): Promise<Principal> {
  const browser = new ConsoleBrowser(app.adminUrl)
  await browser.made('POST', '/session', { token: adminToken })
  return { id: '', browser, headers: { ...byPage(app.adminUrl), cookie: cookieOf(browser) } }
}

/** The browser of `who` at the process that makes the changes. */
function elsewhere({ browser }: Principal): ConsoleBrowser {
  const copy = new ConsoleBrowser(other.adminUrl)
  for (const [name, cookie] of browser!.cookies) copy.cookies.set(name, cookie)
  return copy
}

/** `movesClock`: would also end the leases of running turns, so only what no turn belongs to is open. */
type Cause = { what: string; who: () => Promise<Principal>; happens: (who: Principal) => Promise<unknown>; movesClock?: true }
const hour = 60 * 60 * 1000
const causes: Cause[] = [
  { what: 'the operator signs out', who: operator, happens: (who) => elsewhere(who).ask('DELETE', '/session') },
  { what: 'its sessions are ended', who: operator, happens: ({ id }) => other.made('DELETE', `/operators/${id}/sessions`) },
  { what: 'the operator is disabled', who: operator, happens: ({ id }) => other.made('PATCH', `/operators/${id}`, { enabled: false }) },
  { what: 'the operator is removed', who: operator, happens: ({ id }) => other.made('DELETE', `/operators/${id}`) },
  { what: 'its role changes', who: operator, happens: ({ id }) => other.made('PATCH', `/operators/${id}`, { role: 'viewer' }) },
  {
    what: 'it is restricted to an owner',
    who: operator,
    happens: ({ id }) => other.made('PATCH', `/operators/${id}`, { owner_id: app.caller.ownerId }),
  },
  {
    what: 'it gets a new password in another browser',
    who: operator,
    async happens({ id }) {
      const { email } = await other.made('GET', `/operators/${id}`)
      const browser = new ConsoleBrowser(other.adminUrl)
      await browser.made('POST', '/session', { email, password: goodPassword })
      await browser.made('PUT', '/me/password', { current_password: goodPassword, new_password: `${goodPassword} again` })
    },
  },
  { what: 'the token is revoked', who: program, happens: ({ id }) => other.made('DELETE', `/tokens/${id}`) },
  { what: 'the session of the admin token is signed out', who: adminInBrowser, happens: (who) => elsewhere(who).ask('DELETE', '/session') },
  {
    what: 'the token expires',
    who: () => program({ expires_at: new Date(Date.now() + hour).toISOString() }),
    happens: () => app.moveClock(2 * hour),
    movesClock: true,
  },
  { what: 'the session is twelve hours old', who: operator, happens: () => app.moveClock(12 * hour), movesClock: true },
]

type Ended = { status: number; text: string; isWhole: boolean }
type Opened = { end: Promise<Ended>; isOpen: () => boolean; isOver: () => boolean }

function open(who: Principal, method: string, path: string, body?: Json, headers: Record<string, string> = {}, start?: string): Opened {
  let answer: IncomingMessage | undefined
  let text = ''
  let isOver = false
  const given = body === undefined ? {} : { 'content-type': 'application/json' }
  const asked = httpRequest(`${app.adminUrl}/admin/v1${path}`, { method, agent, headers: { ...who.headers, ...given, ...headers } })
  const end = new Promise<Ended>((resolve, reject) => {
    const finish = (): void => {
      isOver = true
      if (answer) resolve({ status: answer.statusCode!, text, isWhole: answer.complete })
      else reject(new Error(`${method} ${path}: no response`))
    }
    asked.on('error', finish).on('response', (response) => {
      answer = response
      response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
      response.on('end', finish).on('error', finish)
    })
  })
  if (start === undefined) asked.end(body && JSON.stringify(body))
  else asked.write(start)
  return { end, isOpen: () => !isOver && answer !== undefined, isOver: () => isOver }
}

let messages = 0
/** A message whose reply stops after its first word. */
function heldReply(): { message: string; held: Gate } {
  const [message, held] = [`held reply ${++messages};`, gate()]
  app.model.when(message, ['one ', held, 'two'])
  return { message, held }
}

const events = { accept: 'text/event-stream' }

type OpenKind = { opened: Opened; held: Gate; message: string; user: string }
type Kind = { what: string; open(who: Principal): Promise<OpenKind>; isStream: boolean; isTurn: boolean }
const agentPath = (path: string): string => `/agents/${app.caller.agentId}/${path}`
const kinds: Kind[] = [
  {
    what: 'a message in the playground',
    isStream: true,
    isTurn: true,
    async open(who) {
      const { message, held } = heldReply()
      const user = `user ${messages}`
      const opened = open(who, 'POST', agentPath('playground'), { message, external_user_id: user })
      await held.reached
      return { opened, held, message, user }
    },
  },
  {
    what: 'a turn that is followed',
    isStream: true,
    isTurn: true,
    async open(who) {
      const { message, held } = heldReply()
      const user = `user ${messages}`
      const asked = app.chat(message, { user })
      await held.reached
      const { data } = await app.made(
        'GET',
        `/turns?status=running&agent_id=${app.caller.agentId}&external_user_id=${encodeURIComponent(user)}`,
      )
      const opened = open(who, 'GET', `/turns/${data[0].request_id}/stream`)
      await until('the stream is open', opened.isOpen)
      void asked
      return { opened, held, message, user }
    },
  },
  {
    what: 'a preview that is streamed',
    isStream: true,
    isTurn: false,
    async open(who) {
      const { message, held } = heldReply()
      const opened = open(who, 'POST', agentPath('preview'), { message }, events)
      await held.reached
      return { opened, held, message, user: '' }
    },
  },
  {
    what: 'a preview',
    isStream: false,
    isTurn: false,
    async open(who) {
      const { message, held } = heldReply()
      const opened = open(who, 'POST', agentPath('preview'), { message })
      await held.reached
      return { opened, held, message, user: '' }
    },
  },
  {
    what: 'an upload that has not arrived',
    isStream: false,
    isTurn: false,
    async open(who) {
      const { message, held } = heldReply()
      const headers = { 'content-type': 'multipart/form-data; boundary=part', 'content-length': '100000' }
      const opened = open(who, 'POST', agentPath('documents'), undefined, headers, '--part\r\nContent-Disposition: form-data; name="file"')
      return { opened, held, message, user: '' }
    },
  },
  {
    what: 'a rerun',
    isStream: false,
    isTurn: false,
    async open(who) {
      const { message, held } = heldReply()
      const opened = open(who, 'POST', `/turns/${ended}/rerun`, { overrides: { message } })
      await held.reached
      return { opened, held, message, user: '' }
    },
  },
]

const codeOf = ({ text }: Ended, isStream: boolean): unknown =>
  isStream ? parseEvents(text).findLast(({ event }) => event === 'error')?.data['code'] : JSON.parse(text).error.code

for (const { what, who, happens, movesClock } of causes)
  void test(`operator.ends-streams: ${what}: every stream, preview and rerun ends, and a turn goes on`, async () => {
    const principal = await who()
    const wanted = kinds.filter(({ isTurn }) => !isTurn || !movesClock)
    const all = await Promise.all(wanted.map(async (kind) => ({ kind, ...(await kind.open(principal)) })))
    const bystander = movesClock ? undefined : await kinds[1]!.open(await operator())
    await happens(principal)
    for (const { kind, opened, message, held, user } of all) {
      await until(`${kind.what} ends`, opened.isOver)
      const end = await opened.end
      assert.deepEqual([end.status, codeOf(end, kind.isStream)], [kind.isStream ? 200 : 401, 'unauthorized'], `${kind.what}: ${end.text}`)
      assert.equal(end.isWhole, true, kind.what)
      if (!kind.isTurn) {
        const call = app.model.calls.find(({ messages: sent }) => sent.at(-1)!.content === message)
        let how: unknown
        void call?.ended.then((end) => (how = end))
        if (call) await until(`${kind.what}: the call of the model is aborted`, () => how === 'aborted')
        continue
      }
      held.open()
      await until(`${kind.what}: the turn completes`, async () => {
        const { data } = await app.made('GET', `/turns?agent_id=${app.caller.agentId}&external_user_id=${encodeURIComponent(user)}`)
        return data[0].state === 'completed'
      })
    }
    bystander?.held.open()
    if (bystander) assert.match((await bystander.opened.end).text, /two[\s\S]*response\.completed/, 'the stream of another operator')
  })
