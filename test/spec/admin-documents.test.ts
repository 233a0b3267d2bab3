/** Admin API: documents of an agent, given as files, texts and URLs, and the search over them. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once as onceEvent } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { allPages, refused } from '../support/admin-app.ts'
import { changeRows } from '../support/change-rows.ts'
import { HeldLookUps } from '../support/held-look-ups.ts'
import { adminToken, read, startTestApp } from '../support/test-app.ts'
import type { Answer, Json } from '../support/test-app.ts'
import { until as untilSo } from '../support/until.ts'

const MiB = 1024 * 1024
const accessed: Json[] = []
const app = await startTestApp({ accessLog: pino({ level: 'info' }, { write: (line: string) => void accessed.push(JSON.parse(line)) }) })
after(() => app.close())
const { ownerId } = app.caller

const makeAgent = async (): Promise<string> => (await app.makeAgent(ownerId)).id

type Part = { name: string; value: string | Uint8Array; fileName?: string; type?: string }
const file = (fileName: string, value: string | Uint8Array, type = 'application/octet-stream'): Part => ({
  name: 'file',
  value,
  fileName,
  type,
})

function formOf(parts: Part[]): FormData {
  const form = new FormData()
  for (const { name, value, fileName, type = '' } of parts) {
    if (fileName === undefined) form.append(name, String(value))
    else form.append(name, new Blob([value], { type }), fileName)
  }
  return form
}

const send = async (method: string, path: string, parts: Part[]): Promise<Answer> =>
  read(
    await fetch(`${app.adminUrl}/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${adminToken}` },
      body: formOf(parts),
    }),
  )
const upload = (agentId: string, ...parts: Part[]): Promise<Answer> => send('POST', `/agents/${agentId}/documents`, parts)

async function settled(agentId: string, id: string): Promise<Json> {
  for (let tries = 0; tries < 600; tries++) {
    const document = await app.made('GET', `/agents/${agentId}/documents/${id}`)
    if (document.status === 'ready' || document.status === 'failed') return document
    await sleep(100)
  }
  throw new Error(`${id} was not indexed within a minute`)
}

async function ready(agentId: string, id: string): Promise<Json> {
  const document = await settled(agentId, id)
  assert.equal(document.status, 'ready', document.reason)
  return document
}

const found = async (agentId: string, query: string): Promise<Json[]> =>
  (await app.made('POST', `/agents/${agentId}/search`, { query })).data

const documentsOf = (agentId: string): Promise<Json[]> => allPages(app, `/agents/${agentId}/documents`, 2)
const countOf = async (table: string, of = app): Promise<number> => Number((await of.query(`select count(*) as n from ${table}`))[0]!['n'])

void test('documents: a text is accepted immediately, indexed, and found with its section', async () => {
  const agentId = await makeAgent()
  const text = '# Returns\n\nSend it back.\n\n## Deadlines\n\nA parcel may be returned within thirty days.\n'
  const { status, json } = await app.admin('POST', `/agents/${agentId}/documents`, { title: 'Shop rules', text })
  assert.equal(status, 202)
  assert.match(json.id, /^doc_[0-9a-hjkmnp-tv-z]{26}$/)
  assert.ok(['queued', 'indexing', 'ready'].includes(json.status), json.status)
  const { status: _, progress: __, indexed_at: ___, updated_at: ____, chunks: _____, ...given } = json
  assert.deepEqual(given, {
    id: json.id,
    agent_id: agentId,
    title: 'Shop rules',
    source: 'text',
    file_name: null,
    media_type: null,
    url: null,
    reason: null,
    warnings: [],
    bytes: Buffer.byteLength(text),
    source_sha256: createHash('sha256').update(text).digest('hex'),
    created_at: json.created_at,
    waits_until: null,
  })
  const document = await ready(agentId, json.id)
  assert.deepEqual([document.status, document.progress, document.reason, document.title], ['ready', null, null, 'Shop rules'])
  assert.ok(document.chunks >= 1 && document.indexed_at >= document.created_at)

  const [first] = await found(agentId, 'Until when may I return a parcel?')
  assert.deepEqual([first!.document_id, first!.title, first!.section], [json.id, 'Shop rules', 'Returns › Deadlines'])
  assert.match(first!.text, /within thirty days/)
  assert.equal(typeof first!.score, 'number')
  const audit = (await app.made('GET', '/audit?limit=100')).data.filter(({ subject_id }: Json) => subject_id === json.id)
  assert.deepEqual(
    audit.map(({ who, noun, request_id }: Json) => [who, noun, typeof request_id]),
    [['admin_token', 'document', 'string']],
  )
})

void test('documents: what was not read is a warning of the text that searches find, until another text is ready', async () => {
  const agentId = await makeAgent()
  const page = '<title>Map</title><h1>Map</h1><p>The pier is in the north.</p><img src="a.png"><img src="b.png">'
  const { json } = await upload(agentId, file('map.html', page, 'text/html'))
  assert.deepEqual(json.warnings, [])
  const expected = [{ kind: 'pictures', count: 2, message: '2 pictures were not read. Write what they show as text.' }]
  assert.deepEqual((await ready(agentId, json.id)).warnings, expected)
  assert.deepEqual((await documentsOf(agentId))[0]!.warnings, expected)

  const broken = await send('PUT', `/agents/${agentId}/documents/${json.id}`, [file('map.pdf', '%PDF-1.7 broken')])
  assert.equal(broken.status, 202)
  const failed = await settled(agentId, json.id)
  assert.deepEqual([failed.status, failed.warnings], ['failed', expected])

  await send('PUT', `/agents/${agentId}/documents/${json.id}`, [file('map.md', 'The pier is in the north.')])
  assert.deepEqual((await ready(agentId, json.id)).warnings, [])
})

for (const [fileName, type, mediaType] of [
  ['notes.md', 'application/octet-stream', 'text/markdown'],
  ['NOTES.TXT', 'application/octet-stream', 'text/plain'],
  ['page.htm', '', 'text/html'],
  ['no ending', 'text/markdown; charset=utf-8', 'text/markdown'],
  ['übersicht.v2', 'text/plain', 'text/plain'],
] as const) {
  void test(`documents: a file named ${fileName}, sent as ${type || 'nothing'}, is ${mediaType}`, async () => {
    const agentId = await makeAgent()
    const { status, json, text } = await upload(agentId, file(fileName, '<p>The zebra is striped.</p>\n', type))
    assert.equal(status, 202, text)
    assert.deepEqual([json.source, json.file_name, json.media_type, json.title], ['file', fileName, mediaType, fileName])
    await ready(agentId, json.id)
    assert.equal((await found(agentId, 'zebra'))[0]!.document_id, json.id)
  })
}

void test('documents: a title may come before or after the file in a form', async () => {
  const agentId = await makeAgent()
  const title = { name: 'title', value: 'Überblick' }
  for (const parts of [
    [title, file('a.md', 'x')],
    [file('a.md', 'x'), title],
  ]) {
    const { status, json } = await upload(agentId, ...parts)
    assert.deepEqual([status, json.title], [202, 'Überblick'])
  }
})

void test('documents: a file whose content does not match its name fails with a reason', async () => {
  const agentId = await makeAgent()
  const { status, json } = await upload(agentId, file('picture.pdf', Buffer.from('89504e470d0a1a0a0000', 'hex'), 'application/pdf'))
  assert.equal(status, 202)
  const document = await settled(agentId, json.id)
  assert.deepEqual([document.status, document.chunks, document.progress], ['failed', 0, null])
  assert.match(document.reason, /PNG/)
})

const badBodies: Record<string, [Json | undefined, RegExp]> = {
  nothing: [undefined, /JSON object/],
  'neither text nor url': [{ title: 't' }, /text or url, or a file/],
  'text without a title': [{ text: 'x' }, /title is required/],
  'text and url': [{ title: 't', text: 'x', url: 'https://example.com/' }, /not both/],
  'an empty text': [{ title: 't', text: '' }, /text/],
  'an empty title': [{ title: '', text: 'x' }, /title/],
  'NUL in a text': [{ title: 't', text: 'a\u0000b' }, /text must not contain/],
  'half a surrogate pair in a title': [{ title: '\ud800', text: 'x' }, /title must not contain/],
  'a title of 501 letters': [{ title: 't'.repeat(501), text: 'x' }, /title/],
  'a file in JSON': [{ file: 'a.md' }, /multipart\/form-data/],
  'an id of its own': [{ id: 'doc_01jd3v9qk8x2m5n7p4r6t8w0ya', title: 't', text: 'x' }, /unknown field: id/],
  'a status of its own': [{ title: 't', text: 'x', status: 'ready' }, /unknown field: status/],
  'another agent': [{ title: 't', text: 'x', agent_id: app.caller.agentId }, /unknown field: agent_id/],
  'chunks of its own': [{ title: 't', text: 'x', chunks: 9 }, /unknown field: chunks/],
  'an http URL': [{ url: 'http://example.com/' }, /https/],
  'a file URL': [{ url: 'file:///etc/passwd' }, /https/],
  'a URL with a password': [{ url: 'https://me:secret@example.com/' }, /password/],
  'a private address': [{ url: 'https://10.0.0.1/' }, /not public.*add 10\.0\.0\.1:443 to TURNKEEP_ALLOW_PRIVATE_HOSTS\.$/],
  'a loopback address': [{ url: 'https://localhost:8443/' }, /not public/],
  'an invalid URL': [{ url: 'somewhere' }, /url/],
}
for (const [what, [sent, words]] of Object.entries(badBodies)) {
  void test(`documents: ${what} is refused, and nothing is stored`, async () => {
    const agentId = await makeAgent()
    const { json } = await app.admin('POST', `/agents/${agentId}/documents`, { title: 'there', text: 'Is there.' })
    for (const [method, path] of [
      ['POST', ''],
      ['PUT', `/${json.id}`],
    ] as const) {
      await refused(app.admin(method, `/agents/${agentId}/documents${path}`, sent), 422, 'validation_error', words)
    }
    assert.deepEqual(
      (await documentsOf(agentId)).map(({ title }) => title),
      ['there'],
    )
  })
}

const badParts: Record<string, [Part[], RegExp]> = {
  'an unsupported file type': [[file('a.exe', 'MZ')], /md, txt, html, pdf, docx/],
  'a file without name and type': [[file('blob', 'x', '')], /md, txt, html, pdf, docx/],
  'no file': [[{ name: 'title', value: 't' }], /file is required/],
  'two files': [[file('a.md', 'x'), file('b.md', 'y')], /one file/],
  'an empty file': [[file('a.md', '')], /empty/],
  'a file in another field': [[{ ...file('a.md', 'x'), name: 'document' }], /unknown field: document/],
  'an unknown field': [[file('a.md', 'x'), { name: 'status', value: 'ready' }], /unknown field: status/],
  'an unknown field before the file': [[{ name: 'agent_id', value: 'agt_x' }, file('a.md', 'x')], /unknown field: agent_id/],
  'a prototype': [[file('a.md', 'x'), { name: '__proto__', value: 'x' }], /unknown field/],
  'two titles': [[{ name: 'title', value: 'a' }, { name: 'title', value: 'b' }, file('a.md', 'x')], /one title/],
  'an empty title': [[{ name: 'title', value: '' }, file('a.md', 'x')], /title must not be empty/],
  'a title that is too long': [[{ name: 'title', value: 't'.repeat(10_000) }, file('a.md', 'x')], /title/],
  'the file as text': [[{ name: 'file', value: 'x' }], /as a file/],
  'a name that is too long': [[file(`${'n'.repeat(300)}.md`, 'x')], /file name must have 1 to 255/],
}
for (const [what, [parts, words]] of Object.entries(badParts)) {
  void test(`documents: ${what} in a form is refused, and nothing is stored`, async () => {
    const agentId = await makeAgent()
    const before = await countOf('contents')
    await refused(upload(agentId, ...parts), 422, 'validation_error', words)
    assert.deepEqual(await documentsOf(agentId), [])
    assert.equal(await countOf('contents'), before)
  })
}

void test('documents: a form without a boundary, a truncated form or another content type is refused with an explanation', async () => {
  const agentId = await makeAgent()
  const ask = async (contentType: string, body: string): Promise<Answer> =>
    read(
      await fetch(`${app.adminUrl}/admin/v1/agents/${agentId}/documents`, {
        method: 'POST',
        headers: { authorization: `Bearer ${adminToken}`, 'content-type': contentType },
        body,
      }),
    )
  const head = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.md"\r\n\r\n'
  await refused(ask('multipart/form-data', `${head}x\r\n--b--\r\n`), 422, 'validation_error', /boundary/)
  await refused(ask('multipart/form-data; boundary=b', `${head}half of it`), 422, 'validation_error', /incomplete/)
  await refused(ask('multipart/form-data; boundary=b', ''), 422, 'validation_error')
  const nameless = '--b\r\nContent-Disposition: form-data; name="file"\r\nContent-Type: application/octet-stream\r\n\r\nx\r\n--b--\r\n'
  await refused(ask('multipart/form-data; boundary=b', nameless), 422, 'validation_error', /file name/)
  await refused(ask('multipart/form-data; boundary=b', nameless.replace('"file"', '"file"; filename=""')), 422, 'validation_error', /name/)
  await refused(
    ask('multipart/form-data; boundary=b', nameless.replace('"file"', '"file"; filename="a\u0000.md"')),
    422,
    'validation_error',
  )
  await refused(ask('text/plain', 'x'), 422, 'validation_error', /application\/json/)
  assert.deepEqual(await documentsOf(agentId), [])
})

void test('documents: no other route accepts a form', async () => {
  await refused(send('POST', '/owners', [{ name: 'name', value: 'x' }]), 422, 'validation_error', /application\/json/)
})

void test('documents: a file of 20 MiB is accepted; one byte more is 413, with or without Content-Length, and nothing is stored', async () => {
  const agentId = await makeAgent()
  const most = Buffer.alloc(20 * MiB, 'All work and no play makes a long text.\n')
  const before = await countOf('content_parts')
  const taken = await upload(agentId, file('most.txt', most, 'text/plain'))
  assert.equal(taken.status, 202, taken.text)
  assert.equal(taken.json.bytes, 20 * MiB)
  assert.equal(await countOf('content_parts'), before + 80)
  assert.equal((await app.admin('DELETE', `/agents/${agentId}/documents/${taken.json.id}`)).status, 204)

  const stored = await countOf('content_parts')
  const form = formOf([file('more.txt', Buffer.concat([most, Buffer.from('x')]), 'text/plain')])
  await refused(
    upload(agentId, file('more.txt', Buffer.concat([most, Buffer.from('x')]), 'text/plain')),
    413,
    'payload_too_large',
    /20 MiB/,
  )
  const encoded = new Response(form)
  const unreported = read(
    await fetch(`${app.adminUrl}/admin/v1/agents/${agentId}/documents`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': encoded.headers.get('content-type')! },
      body: encoded.body,
      duplex: 'half',
    } as RequestInit),
  )
  await refused(unreported, 413, 'payload_too_large', /20 MiB/)
  assert.equal(await countOf('content_parts'), stored)
  assert.deepEqual(await documentsOf(agentId), [])
})

void test('documents: much more than 20 MiB is refused before it is sent, like other bodies over 1 MiB', async () => {
  const agentId = await makeAgent()
  const head = (path: string, type: string, length: number): string =>
    `POST /admin/v1${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${adminToken}\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\n\r\n`
  const answerTo = async (bytes: string): Promise<string> => {
    const socket = connect(Number(new URL(app.adminUrl).port), '127.0.0.1')
    socket.end(bytes)
    let answer = ''
    for await (const piece of socket.setEncoding('utf8')) answer += piece as string
    return answer
  }
  const huge = await answerTo(head(`/agents/${agentId}/documents`, 'multipart/form-data; boundary=b', 100 * MiB))
  assert.match(huge, /^HTTP\/1.1 413 [\s\S]*payload_too_large[\s\S]*20 MiB/)
  const json = await answerTo(head(`/agents/${agentId}/documents`, 'application/json', 2 * MiB))
  assert.match(json, /^HTTP\/1.1 413 [\s\S]*larger than 1 MiB/)
})

void test('documents: an upload whose connection is cut in the middle leaves nothing behind', async () => {
  const agentId = await makeAgent()
  const before = [await countOf('contents'), await countOf('content_parts')]
  const seen = accessed.length
  const socket = connect(Number(new URL(app.adminUrl).port), '127.0.0.1')
  const head = `POST /admin/v1/agents/${agentId}/documents HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${adminToken}\r\n`
  socket.write(`${head}Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 5000000\r\n\r\n`)
  socket.write(`--b\r\nContent-Disposition: form-data; name="file"; filename="cut.md"\r\n\r\n${'half a text. '.repeat(100_000)}`)
  await onceEvent(socket, 'drain')
  socket.destroy()
  // Its access log line is written when the server knows that no more data will arrive.
  const isOver = (): boolean => accessed.slice(seen).some(({ method, route }) => method === 'POST' && route.endsWith('/documents'))
  for (let tries = 0; !isOver() && tries < 600; tries++) await sleep(50)
  assert.ok(isOver())
  assert.deepEqual(await documentsOf(agentId), [])
  assert.deepEqual([await countOf('contents'), await countOf('content_parts')], before)
})

void test('documents: while eight files are being received, a ninth is refused with Retry-After, and its retry succeeds', async () => {
  const agentId = await makeAgent()
  const sockets = Array.from({ length: 8 }, () => connect(Number(new URL(app.adminUrl).port), '127.0.0.1'))
  const head = `POST /admin/v1/agents/${agentId}/documents HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${adminToken}\r\nConnection: close\r\n`
  for (const socket of sockets) socket.write(`${head}Content-Type: multipart/form-data; boundary=b\r\nTransfer-Encoding: chunked\r\n\r\n`)
  let answer = await upload(agentId, file('ninth.md', 'x'))
  for (let tries = 0; answer.status === 202 && tries < 100; tries++) answer = await upload(agentId, file('ninth.md', 'x'))
  assert.deepEqual([answer.status, answer.json.error?.code, answer.headers.get('retry-after')], [503, 'service_unavailable', '5'])
  for (const socket of sockets) socket.destroy()
  for (let tries = 0; answer.status === 503 && tries < 600; tries++) {
    await sleep(50)
    answer = await upload(agentId, file('ninth.md', 'x'))
  }
  assert.equal(answer.status, 202)
})

void test('documents: uploads whose callers disconnect before they are authenticated take the place of no other upload', async () => {
  const agentId = await makeAgent()
  using lookUps = await HeldLookUps.of(app)
  const sockets = Array.from({ length: 8 }, () => connect(Number(new URL(app.adminUrl).port), '127.0.0.1'))
  const head = `POST /admin/v1/agents/${agentId}/documents HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${lookUps.token}\r\n`
  for (const socket of sockets) socket.write(`${head}Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 1000\r\n\r\n--b`)
  const held = await lookUps.waiting(sockets.length)
  const gone = Promise.all(held.map(({ response }) => onceEvent(response, 'close')))
  for (const socket of sockets) socket.resetAndDestroy()
  await gone
  lookUps.release()
  const answer = await upload(agentId, file('after.md', 'x'))
  assert.equal(answer.status, 202, answer.text)
})

void test('knowledge.bounded: an owner sees what its documents wait for, and one more than may wait gets 429 until some are indexed', async () => {
  await using small = await startTestApp({ env: { TURNKEEP_MAX_QUEUED_DOCUMENTS: '2', TURNKEEP_DOCUMENT_CPU_MINUTES: '1' } })
  const path = `/agents/${small.caller.agentId}/documents`
  const add = (title: string): Promise<Answer> => small.admin('POST', path, { title, text: `About ${title}.` })
  const until = Date.now() + 3_600_000
  await changeRows(
    small,
    `insert into indexing_windows (owner_id, started_at, spent_ms, waits_until) values ('${small.caller.ownerId}', ${until - 3_600_000}, 61500, ${until})`,
  )
  for (const title of ['one', 'two']) assert.equal((await add(title)).status, 202)
  const before = await countOf('documents', small)
  const refusal = await add('three')
  assert.deepEqual([refusal.status, refusal.json['error'].code], [429, 'rate_limit_exceeded'])
  assert.match(refusal.json['error'].message, /^2 documents of this owner wait.*TURNKEEP_MAX_QUEUED_DOCUMENTS/)
  // With both headers, `turnkeep document add` and `turnkeep apply` send it again.
  assert.deepEqual([refusal.headers.get('retry-after'), refusal.headers.has('x-ratelimit-limit')], ['15', true])
  assert.equal(await countOf('documents', small), before)

  const waitsUntil = new Date(until).toISOString()
  const { indexing } = await small.made('GET', `/owners/${small.caller.ownerId}`)
  assert.deepEqual(indexing, {
    queued_documents: 2,
    max_queued_documents: 2,
    cpu_seconds: 61.5,
    max_cpu_seconds: 60,
    waits_until: waitsUntil,
  })
  assert.deepEqual((await small.made('GET', '/status')).documents, { queued: 2, indexing: 0 })
  assert.match(
    await (await fetch(`${small.adminUrl}/metrics`, { headers: { authorization: `Bearer ${adminToken}` } })).text(),
    /^turnkeep_documents_waiting 2$/m,
  )
  const { data } = await small.made('GET', path)
  assert.deepEqual(
    data.map(({ title, status, waits_until: at }: Json) => [title, status, at]),
    ['two', 'one'].map((title) => [title, 'queued', waitsUntil]),
  )

  await changeRows(small, 'update indexing_windows set spent_ms = 0, waits_until = null')
  await untilSo('one of them is indexed', async () => (await add('three')).status === 202)
  await untilSo('all are indexed', async () => (await small.made('GET', '/status')).documents.queued === 0)
})

void test('documents: the list is newest first and paginated', async () => {
  const agentId = await makeAgent()
  const ids: string[] = []
  for (const title of ['a', 'b', 'c', 'd', 'e'])
    ids.push((await app.made('POST', `/agents/${agentId}/documents`, { title, text: title })).id)
  assert.deepEqual(
    (await documentsOf(agentId)).map(({ id }) => id),
    ids.toReversed(),
  )
})

void test('documents: the list can be filtered by status', async () => {
  const agentId = await makeAgent()
  const [good, bad] = await Promise.all([
    app.made('POST', `/agents/${agentId}/documents`, { title: 'good', text: 'good' }),
    app.made('POST', `/agents/${agentId}/documents`, { title: 'bad', text: '   ' }),
  ])
  const withStatus = async (status: string): Promise<string[]> =>
    (await app.made('GET', `/agents/${agentId}/documents?status=${status}`)).data.map(({ id }: Json) => id)
  while ((await withStatus('ready')).length + (await withStatus('failed')).length < 2);
  assert.deepEqual([await withStatus('ready'), await withStatus('failed'), await withStatus('queued')], [[good.id], [bad.id], []])
  await refused(app.admin('GET', `/agents/${agentId}/documents?status=lost`), 422, 'validation_error', /status/)
})

void test('documents: a replaced document keeps its id, and its old words are no longer found once the new ones are', async () => {
  const agentId = await makeAgent()
  const { id } = await app.made('POST', `/agents/${agentId}/documents`, { title: 'Opening', text: 'The aardvark opens at nine.' })
  await ready(agentId, id)
  const { status, json } = await send('PUT', `/agents/${agentId}/documents/${id}`, [file('new.md', 'The pangolin opens at ten.')])
  assert.deepEqual([status, json.id, json.source, json.file_name], [202, id, 'file', 'new.md'])
  await ready(agentId, id)
  assert.match((await found(agentId, 'pangolin'))[0]!.text, /ten/)
  assert.deepEqual(await found(agentId, 'aardvark'), [])
  assert.equal((await documentsOf(agentId)).length, 1)
})

void test('documents: a failed replacement leaves the old text under its old title', async () => {
  const agentId = await makeAgent()
  const { id } = await app.made('POST', `/agents/${agentId}/documents`, { title: 'Opening', text: 'The aardvark opens at nine.' })
  await ready(agentId, id)
  await send('PUT', `/agents/${agentId}/documents/${id}`, [file('damaged.pdf', '%PDF-1.7 nothing of one')])
  let shown: Json = {}
  for (let tries = 0; shown['status'] !== 'failed' && tries < 600; tries++) {
    await sleep(50)
    shown = await app.made('GET', `/agents/${agentId}/documents/${id}`)
  }
  assert.deepEqual([shown['status'], shown['title']], ['failed', 'damaged.pdf'])
  const [passage] = await found(agentId, 'aardvark')
  assert.deepEqual([passage!['title'], passage!['text']], ['Opening', 'The aardvark opens at nine.'])
})

void test('documents: documents that were indexed directly, as on the first start, are reindexed for another language', async () => {
  const agentId = await makeAgent()
  await app.app.knowledge.index({ documentId: 'doc_at_once', agentId, title: 'Öffnung', text: '# Zeiten\n\nDie Häuser öffnen um neun.' })
  assert.deepEqual(await found(agentId, 'Haus'), [])
  await app.made('PATCH', `/agents/${agentId}`, { knowledge: { language: 'german' } })
  for (let tries = 0; (await found(agentId, 'Haus')).length === 0 && tries < 600; tries++) await sleep(50)
  await ready(agentId, 'doc_at_once')
  assert.equal((await found(agentId, 'Haus'))[0]!['title'], 'Öffnung')
})

void test('documents: a deleted document is hidden from searches immediately and then removed', async () => {
  const agentId = await makeAgent()
  const { id } = await app.made('POST', `/agents/${agentId}/documents`, { title: 'Gone', text: 'The axolotl regrows.' })
  await ready(agentId, id)
  assert.equal((await found(agentId, 'axolotl')).length, 1)
  const gone = await app.admin('DELETE', `/agents/${agentId}/documents/${id}`)
  assert.deepEqual([gone.status, gone.text], [204, ''])
  assert.deepEqual(await found(agentId, 'axolotl'), [])
  await refused(app.admin('GET', `/agents/${agentId}/documents/${id}`), 404, 'not_found', /document/)
  await refused(app.admin('DELETE', `/agents/${agentId}/documents/${id}`), 404, 'not_found', /document/)
  await refused(app.admin('PUT', `/agents/${agentId}/documents/${id}`, { title: 't', text: 'x' }), 404, 'not_found', /document/)
})

void test("documents: every request for another agent's document is 404", async () => {
  const [agentId, other] = [await makeAgent(), await makeAgent()]
  const { id } = await app.made('POST', `/agents/${other}/documents`, { title: 'Theirs', text: 'The okapi is shy.' })
  await ready(other, id)
  const path = `/agents/${agentId}/documents/${id}`
  await refused(app.admin('GET', path), 404, 'not_found', /document/)
  await refused(app.admin('PUT', path, { title: 't', text: 'x' }), 404, 'not_found', /document/)
  await refused(send('PUT', path, [file('a.md', 'x')]), 404, 'not_found', /document/)
  await refused(app.admin('DELETE', path), 404, 'not_found', /document/)
  assert.deepEqual(await documentsOf(agentId), [])
  assert.deepEqual(await found(agentId, 'okapi'), [])
  assert.match((await found(other, 'okapi'))[0]!.text, /shy/)
})

void test('documents: adding a document to an unknown agent is 404', async () => {
  for (const path of ['/documents', '/documents/doc_x', '/search']) {
    const method = path === '/documents/doc_x' ? 'PUT' : 'POST'
    const body = path === '/search' ? { query: 'x' } : { title: 't', text: 'x' }
    await refused(app.admin(method, `/agents/agt_x${path}`, body), 404, 'not_found', /agent/)
  }
  await refused(upload('agt_x', file('a.md', 'x')), 404, 'not_found', /agent/)
  await refused(app.admin('GET', '/agents/agt_x/documents'), 404, 'not_found', /agent/)
})

void test('search: accepts any text as a query and returns as many passages as the agent would see, or as many as requested', async () => {
  const { id: agentId } = await app.makeAgent(ownerId, { knowledge: { top_k: 2 } })
  const text = Array.from({ length: 5 }, (_, n) => `# Part ${n}\n\n${`The narwhal number ${n} swims in C++. `.repeat(40)}`).join('\n\n')
  const { id } = await app.made('POST', `/agents/${agentId}/documents`, { title: 'Narwhals', text })
  await ready(agentId, id)
  assert.equal((await found(agentId, 'narwhal')).length, 2)
  const all = await app.made('POST', `/agents/${agentId}/search`, { query: 'narwhal', limit: 50 })
  assert.ok(all.data.length >= 5, `${all.data.length}`)
  assert.equal((await app.made('POST', `/agents/${agentId}/search`, { query: 'narwhal', limit: 1 })).data.length, 1)
  for (const query of ['What is C++?', "O'Brien", '"', '退款', '*', 'a AND', '\\', '%_']) {
    assert.equal((await app.admin('POST', `/agents/${agentId}/search`, { query })).status, 200, query)
  }
  for (const body of [
    { query: '' },
    { query: 7 },
    {},
    { query: 'x', limit: 0 },
    { query: 'x', limit: 51 },
    { query: 'x', agent_id: 'agt_y' },
  ])
    await refused(app.admin('POST', `/agents/${agentId}/search`, body), 422, 'validation_error')
})

void test('documents: a message retrieves matching passages, and the reply cites them', async () => {
  const caller = await app.makeCaller()
  const text = readFileSync(new URL('../../src/process/demo-documents/billing.md', import.meta.url), 'utf8')
  const { id } = await app.made('POST', `/agents/${caller.agentId}/documents`, { title: 'Billing', text })
  await ready(caller.agentId, id)
  const passages = await found(caller.agentId, 'What is charged for a reply?')
  const { json } = await app.chat('What is charged for a reply?', { caller })
  const prompt = app.model.calls.at(-1)!.messages[0]!.content!
  for (const passage of passages) assert.ok(prompt.includes(passage.text), passage.text)
  const [reply, message] = (await app.made('GET', `/conversations/${json.conversation_id}/messages`)).data
  assert.deepEqual(message.citations, [])
  assert.ok(reply.citations.length > 0)
  for (const citation of reply.citations) assert.deepEqual([citation.document_id, citation.title], [id, 'Billing'])
})

void test('documents: a document of a deleted agent can be deleted, and only once; its other routes do not know the agent', async () => {
  const agentId = await makeAgent()
  const { id } = await app.made('POST', `/agents/${agentId}/documents`, { title: 'Last', text: 'The harbour is open.' })
  await ready(agentId, id)
  assert.equal((await app.admin('DELETE', `/agents/${agentId}`)).status, 204)
  assert.equal((await app.admin('DELETE', `/agents/${await makeAgent()}/documents/${id}`)).status, 404, 'not through another agent')
  await refused(app.admin('GET', `/agents/${agentId}/documents/${id}`), 404, 'not_found', /This agent does not exist/)
  assert.equal((await app.admin('DELETE', `/agents/${agentId}/documents/${id}`)).status, 204)
  await refused(app.admin('DELETE', `/agents/${agentId}/documents/${id}`), 404, 'not_found', /This agent does not exist/)
})
