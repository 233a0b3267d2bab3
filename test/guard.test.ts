/** The guard against requests to private addresses: what must not be reached, by any spelling, lookup or redirect. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer as createTlsServer } from 'node:https'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import fc from 'fast-check'
import { createGuard, GuardFailed, GuardRefused } from '../src/agent/guard/guard.ts'
import type { GuardedRequest } from '../src/agent/guard/guard.ts'
import { isPublic } from '../src/agent/guard/address.ts'
import { exchange } from '../src/agent/guard/exchange.ts'
import { permittedPairs, reachableFrom, readTarget } from '../src/agent/guard/target.ts'
import { startDnsServer } from './support/dns-server.ts'
import type { DnsServer } from './support/dns-server.ts'
import { startHostileServer } from './support/hostile-server.ts'
import type { HostileServer } from './support/hostile-server.ts'

const corpus: string[] = JSON.parse(readFileSync(join(import.meta.dirname, 'data/unreachable-urls.json'), 'utf8'))
// Unassigned global unicast: returned in 2006, and in no routing table.
const publicButNowhere = '3ffe:ffff::1'

const answers: Record<string, { A?: string[]; AAAA?: string[] }> = {
  'loopback.example.com': { A: ['127.0.0.1'] },
  'loopback6.example.com': { AAAA: ['::1'] },
  'mapped.example.com': { AAAA: ['::ffff:127.0.0.1'] },
  'mixed.example.com': { A: ['93.184.215.14', '127.0.0.1'] },
  'mixed6.example.com': { A: ['127.0.0.1'], AAAA: [publicButNowhere] },
  'zero.example.com': { A: ['0.0.0.0'] },
  'public.example.com': { AAAA: [publicButNowhere] },
}

let names: DnsServer
let server: HostileServer
let canary: { port: number; connections: number; close(): Promise<void> }

before(async () => {
  names = await startDnsServer((name, type, earlier) => {
    // a name that is public when it is checked, and private whenever it is resolved again
    if (name === 'rebinding.example.com')
      return type === 'AAAA' ? [earlier === 0 ? publicButNowhere : '::1'] : earlier === 0 ? [] : ['127.0.0.1']
    if (name.endsWith('silent.example.com')) return 'silent'
    const known = answers[name]
    return known && (known[type] ?? [])
  })
  server = await startHostileServer()
  canary = await startCanary()
})
after(async () => {
  await Promise.all([names.close(), server.close(), canary.close()])
})

/** Listens on every address of the machine, IPv4 and IPv6, and counts connections. */
async function startCanary(): Promise<typeof canary> {
  const state = { port: 0, connections: 0, close: () => closed(listener) }
  const listener = createServer((socket) => {
    state.connections++
    socket.on('error', () => undefined)
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\ncanary')
  })
  listener.listen(0, '::')
  await once(listener, 'listening')
  state.port = (listener.address() as AddressInfo).port
  return state
}

const closed = (listener: Server): Promise<void> => new Promise((resolve) => listener.close(() => resolve()))

const request = (more: Partial<GuardedRequest> = {}): GuardedRequest => ({
  method: 'GET',
  signal: new AbortController().signal,
  timeoutMs: 20_000,
  maxBytes: 1000,
  redirects: 3,
  ...more,
})
const guardOf = (...allowPrivateHosts: string[]) => createGuard({ allowPrivateHosts, nameServers: [names.address] })
const home = (): string => `127.0.0.1:${server.port}`
const textOf = (body: Uint8Array): string => Buffer.from(body).toString()
const here = (): string[] => corpus.map((url) => url.replaceAll('{port}', String(canary.port)))

const onConnection = (): void => undefined

void test('guard: the canary is reachable on 127.0.0.1, on ::1 and on 0.0.0.0', async () => {
  const earlier = canary.connections
  for (const host of ['127.0.0.1', '::1', '0.0.0.0']) {
    const socket = connect(canary.port, host)
    await once(socket, 'data')
    socket.destroy()
  }
  assert.equal(canary.connections, earlier + 3)
  assert.ok(corpus.length >= 40)
})

void test('tools.guard: none of the forbidden URLs is reached, whoever requests it', async () => {
  const guard = guardOf()
  const earlier = canary.connections
  for (const url of here()) {
    await assert.rejects(guard.fetch(url, request()), GuardRefused, url)
    await assert.rejects(async () => guard.webFetch(url), Error, url)
  }
  assert.equal(canary.connections, earlier)
})

void test('tools.guard: an address that is refused by itself is reported without a lookup', () => {
  const guard = guardOf(home())
  const asked = names.questions.length
  const byName = /loopback|mapped|mixed|zero/i
  for (const url of here()) assert.equal(guard.refusedAddress(url) === undefined, byName.test(url) && !url.startsWith('http:'), url)
  assert.equal(guard.refusedAddress(server.url('/')), undefined)
  assert.equal(names.questions.length, asked)
})

void test('tools.guard: only the operator learns what to allow, in the syntax of the setting', async () => {
  const guard = guardOf(home())
  const reported: [string, string | undefined][] = [
    ['https://10.0.0.7:8443/x', '10.0.0.7:8443'],
    ['https://[fd00::7]/x', '[fd00::7]:443'],
    ['https://Intranet/', 'intranet:443'],
    ['http://api.example.com/', 'api.example.com:80'],
    ['ftp://api.example.com/', undefined],
    ['https://me:word@10.0.0.7/', undefined],
  ]
  for (const [url, pair] of reported) {
    const hint = / to allow it, add (\S+) to TURNKEEP_ALLOW_PRIVATE_HOSTS$/.exec(guard.refusedAddress(url) ?? '')?.[1]
    assert.equal(hint, pair, url)
    if (pair !== undefined) assert.equal(guardOf(pair).refusedAddress(url), undefined, 'what it says helps')
    await assert.rejects(guard.fetch(url, request()), (error) => error instanceof Error && !error.message.includes('TURNKEEP'))
  }
  const byName = (error: unknown): boolean =>
    error instanceof GuardRefused && error.forOperator.endsWith('add loopback.example.com:443 to TURNKEEP_ALLOW_PRIVATE_HOSTS')
  await assert.rejects(guard.fetch('https://loopback.example.com/', request()), byName)
  const led = (error: unknown): boolean => error instanceof GuardRefused && !error.forOperator.includes('TURNKEEP')
  await assert.rejects(guard.fetch(server.url(`/redirect?status=302&to=${encodeURIComponent('https://10.0.0.7/')}`), request()), led)
})

void test('guard: a failure before there is a connection means not sent; one after it, or after a redirect, may have been sent', async (t) => {
  const gone = createServer().listen(0, '127.0.0.1')
  await once(gone, 'listening')
  const { port } = gone.address() as AddressInfo
  await closed(gone)
  // accepts connections, and responds to a TLS handshake with something else
  const mute = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  })
  mute.listen(0, '127.0.0.1')
  await once(mute, 'listening')
  t.after(() => closed(mute))
  const plain = (mute.address() as AddressInfo).port
  const guard = guardOf(home(), `127.0.0.1:${port}`, `127.0.0.1:${plain}`)
  const unsent = [
    'https://nobody.example.com/',
    'https://ever-silent.example.com/',
    'https://10.0.0.7/',
    `http://127.0.0.1:${port}/`,
    `https://127.0.0.1:${plain}/`,
  ]
  const to = (url: string): string => server.url(`/redirect?status=302&to=${encodeURIComponent(url)}`)
  const sent = [server.url('/closes'), to(`http://127.0.0.1:${port}/`), to('https://10.0.0.7/'), server.url('/loop')]
  const sentOf = async (asked: Promise<unknown>): Promise<unknown> =>
    asked.then(
      () => 'answered',
      (error) => (error instanceof GuardRefused || error instanceof GuardFailed ? error.sent : error),
    )
  // It waits for its deadline, while the others are asked.
  const hanging = sentOf(guard.fetch(server.url('/hang'), request({ timeoutMs: 5000 })))
  for (const url of unsent) {
    assert.equal(await sentOf(guard.fetch(url, request({ timeoutMs: 2000 }))), false, url)
    if (!url.includes('silent')) assert.equal(await sentOf(guard.webFetch(url)), false, url)
  }
  for (const url of sent) assert.equal(await sentOf(guard.fetch(url, request())), true, url)
  for (const path of ['/closes', '/loop']) assert.equal(await sentOf(guard.webFetch(server.url(path))), true, path)
  assert.equal(await sentOf(guard.webFetch(server.url('/cut')).then((response) => response.text())), true)
  assert.equal(await hanging, true, '/hang')
})

void test('fault.private-address: no redirect leads to a private address', async () => {
  const guard = guardOf(home())
  const earlier = canary.connections
  const targets = here().filter((url) => /^[\x21-\x7e]+$/.test(url) && (URL.canParse(url) || url.startsWith('//')))
  assert.ok(targets.length >= 70)
  const more = [
    'http://169.254.169.254/',
    'http://127.1/',
    'http://[::ffff:127.0.0.1]/',
    'file:///etc/passwd',
    'data:,x',
    `//127.1:${canary.port}/`,
  ]
  for (const target of [...targets, ...more]) {
    for (const status of [302, 307]) {
      const first = server.url(`/redirect?status=${status}&to=${encodeURIComponent(target)}`)
      await assert.rejects(guard.fetch(first, request()), GuardRefused, target)
    }
  }
  assert.equal(canary.connections, earlier)
})

void test('fault.private-address tools.guard: a name is resolved once, and the checked address is the one connected to', async () => {
  const guard = guardOf()
  const earlier = canary.connections
  const url = `https://rebinding.example.com:${canary.port}/`
  await assert.rejects(guard.fetch(url, request({ timeoutMs: 3000 })), GuardFailed)
  const asked = names.questions.filter(({ name }) => name === 'rebinding.example.com').map(({ type }) => type)
  assert.deepEqual(asked.toSorted(), ['A', 'AAAA'])
  // a name that does not resolve, and an address for it: the connection goes to the address
  const pinned = {
    url: new URL(`http://pinned.example.com:${server.port}/text`),
    host: 'pinned.example.com',
    port: server.port,
    permitted: true,
  }
  const hop = { method: 'GET', headers: {}, body: undefined, maxBytes: 1000, signal: new AbortController().signal, onConnection }
  const answer = await exchange(pinned, [{ address: '127.0.0.1', family: 4 }], hop)
  answer.close()
  assert.deepEqual([answer.status, server.calls.at(-1)?.headers.host], [200, `pinned.example.com:${server.port}`])
  // the second time it is private, and refused
  await assert.rejects(guard.fetch(url, request()), GuardRefused)
  assert.equal(canary.connections, earlier)
})

void test('tools.guard: a connection that reaches another address than the checked one is closed before a byte is sent', async (t) => {
  let bytes = 0
  const listener = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.on('data', (data) => {
      bytes += data.length
      socket.destroy()
    })
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  t.after(() => closed(listener))
  const { port } = listener.address() as AddressInfo
  const heard = once(listener, 'connection')
  for (const protocol of ['http', 'https']) {
    const target = { url: new URL(`${protocol}://public.example.com:${port}/`), host: 'public.example.com', port, permitted: false }
    const hop = { method: 'GET', headers: {}, body: undefined, maxBytes: 1000, signal: new AbortController().signal, onConnection }
    await assert.rejects(exchange(target, [{ address: '127.0.0.1', family: 4 }], hop), GuardRefused)
  }
  await heard
  assert.equal(bytes, 0)
})

void test('guard: a refusal and a failure never reveal what a name resolved to', async () => {
  const guard = guardOf(`localhost:${canary.port + 1}`)
  const messages = await Promise.all(
    [
      'https://loopback.example.com/',
      'https://mapped.example.com/',
      'https://public.example.com/',
      'https://nowhere.example.com/',
      `http://localhost:${canary.port + 1}/`,
    ].map(async (url) =>
      // Only the address that no one has costs the whole time.
      guard.fetch(url, request(url.includes('public') ? { timeoutMs: 2000 } : {})).then(
        () => 'an answer',
        (error: Error) => `${error.message} ${JSON.stringify(error)} ${String(error.cause)}`,
      ),
    ),
  )
  for (const message of messages) assert.doesNotMatch(message, /127\.0\.0\.1|::|3ffe/)
  assert.match(messages[3]!, /host name does not exist/)
  const deaf = createGuard({ allowPrivateHosts: [], nameServers: [`127.0.0.1:1`] })
  await assert.rejects(deaf.fetch('https://public.example.com/', request()), { message: /host name could not be resolved/ })
})

void test("guard: silent name servers cost only the deadline, and a caller's abort takes effect immediately", async () => {
  const guard = guardOf()
  await assert.rejects(guard.fetch('https://silent.example.com/', request({ timeoutMs: 50 })), { message: /within 0.05 s/ })
  const caller = new AbortController()
  const asked = guard.fetch('https://silent.example.com/', request({ signal: caller.signal }))
  caller.abort(new Error('gone'))
  await assert.rejects(asked, { message: 'gone' })
  // A name server is queried again after a while; that query is for another name, not for the one that was abandoned.
  const count = (name: string): number => names.questions.filter((question) => question.name === name).length
  const later = new AbortController()
  const waiting = guard.fetch('https://later.silent.example.com/', request({ signal: later.signal }))
  while (count('later.silent.example.com') < 4) await new Promise((resolve) => setTimeout(resolve, 20))
  later.abort(new Error('seen'))
  await assert.rejects(waiting, { message: 'seen' })
  // both requests above, A and AAAA, each once
  assert.ok(count('silent.example.com') <= 4)
})

void test('guard: the allowlist permits its pairs of host and port, private and over http, and nothing else', async () => {
  const guard = guardOf(home(), `[0:0::1]:${canary.port}`, `localhost:${server.port}`)
  for (const url of [server.url('/text'), `http://0x7f.1:${server.port}/text`, `http://LOCALHOST.:${server.port}/text`]) {
    assert.equal((await guard.fetch(url, request())).status, 200)
  }
  assert.equal(textOf((await guard.fetch(`http://[::1]:${canary.port}/`, request())).body), 'canary')
  const earlier = canary.connections
  for (const url of [
    `http://127.0.0.1:${canary.port}/`,
    `http://127.0.0.2:${server.port}/text`,
    `http://[::1]:${server.port}/`,
    'http://127.0.0.1/',
  ]) {
    await assert.rejects(guard.fetch(url, request()), GuardRefused)
  }
  for (const login of ['user:word', 'user', ':word'])
    await assert.rejects(guard.fetch(`http://${login}@${home()}/text`, request()), GuardRefused)
  assert.equal(canary.connections, earlier)
  const standard = guardOf('127.0.0.1:80', '127.0.0.2:443')
  assert.deepEqual(
    ['http://127.0.0.1/', 'https://127.0.0.1/', 'https://127.0.0.2/', 'http://127.0.0.2/'].map(
      (url) => standard.refusedAddress(url) === undefined,
    ),
    [true, false, true, false],
  )
  assert.throws(() => guardOf('no pair'))
})

void test('guard: special-purpose addresses of the registries are not public, in any spelling', () => {
  const special = [
    '0.0.0.0/8',
    '10.0.0.0/8',
    '100.64.0.0/10',
    '127.0.0.0/8',
    '169.254.0.0/16',
    '172.16.0.0/12',
    '192.0.0.0/24',
    '192.0.2.0/24',
  ]
  special.push('192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4')
  const dotted = (number: number): string => [24, 16, 8, 0].map((bits) => (number >>> bits) & 255).join('.')
  const inside = fc.tuple(fc.constantFrom(...special), fc.nat(0xffffffff)).map(([range, random]) => {
    const [network, prefix] = range.split('/')
    const first = network!.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
    return first + (random % 2 ** (32 - Number(prefix)))
  })
  fc.assert(
    fc.property(inside, (number) => {
      const hex = [number >>> 16, number & 0xffff].map((half) => half.toString(16)).join(':')
      const spellings = [
        dotted(number),
        `::ffff:${dotted(number)}`,
        `::${hex}`,
        `64:ff9b::${hex}`,
        `64:ff9b:1::${hex}`,
        `2002:${hex}::1`,
        `2001:0:${hex}::1`,
      ]
      for (const address of spellings) assert.equal(isPublic(address), false, address)
      for (const host of [String(number), `0x${number.toString(16)}`, `0${number.toString(8)}`]) {
        assert.equal(isPublic(new URL(`https://${host}/`).hostname), false, host)
      }
    }),
    { numRuns: 500 },
  )
  for (const address of [
    '::',
    '::1',
    'fe80::1',
    'fec0::1',
    'fc00::1',
    'fdff::1',
    'ff02::1',
    '100::1',
    '2001:db8::1',
    '3fff::1',
    '5f00::1',
    'fe80::1%eth0',
    '',
    'x',
    '1.2.3',
  ])
    assert.equal(isPublic(address), false, address)
  for (const address of [
    '1.1.1.1',
    '8.8.8.8',
    '93.184.215.14',
    '172.32.0.1',
    '100.128.0.1',
    '2606:4700:4700::1111',
    '2a00:1450:4001::1',
    '2001:4860:4860::8888',
  ])
    assert.equal(isPublic(address), true, address)
})

void test('tools.guard: the methods of redirects, and what is sent to another origin', async (t) => {
  const other = await startHostileServer()
  t.after(() => other.close())
  const guard = guardOf(home(), `127.0.0.1:${other.port}`)
  const headers = {
    Authorization: 'Bearer canary',
    Cookie: 'canary',
    'X-Secret': 'canary',
    Accept: 'text/plain',
    'Idempotency-Key': 'k',
    'Content-Type': 'text/x',
  }
  const follow = async (method: string, status: number, to: string) => {
    const url = server.url(`/redirect?status=${status}&to=${encodeURIComponent(to)}`)
    const answer = await guard.fetch(url, request({ method, headers, ...(method === 'GET' ? {} : { body: 'body' }), maxBytes: 100_000 }))
    return { url: answer.url, call: JSON.parse(textOf(answer.body)) }
  }
  const became: Record<string, [number, string, string][]> = {
    GET: [
      [301, 'GET', ''],
      [303, 'GET', ''],
      [307, 'GET', ''],
    ],
    POST: [
      [301, 'GET', ''],
      [302, 'GET', ''],
      [303, 'GET', ''],
      [307, 'POST', 'body'],
      [308, 'POST', 'body'],
    ],
    PUT: [
      [301, 'PUT', 'body'],
      [302, 'PUT', 'body'],
      [303, 'GET', ''],
      [308, 'PUT', 'body'],
    ],
    DELETE: [
      [302, 'DELETE', 'body'],
      [303, 'GET', ''],
    ],
  }
  for (const [method, cases] of Object.entries(became)) {
    for (const [status, then, body] of cases) {
      const { call } = await follow(method, status, '/echo?a=1')
      assert.deepEqual([call.method, call.body, call.url], [then, body, '/echo?a=1'], `${method} ${status}`)
      assert.equal(call.headers.authorization, 'Bearer canary')
      assert.equal(call.headers['content-type'], then === method ? 'text/x' : undefined)
    }
  }
  server.on('/ünï', (call, response) => void response.end(JSON.stringify(call)))
  server.on('/utf8', (_call, response) => {
    response.socket?.end(Buffer.from('HTTP/1.1 302 Found\r\nlocation: /ünï\r\nx-name: 退款\r\ncontent-length: 0\r\n\r\n'))
  })
  const utf8 = await guard.fetch(server.url('/utf8'), request())
  assert.equal(utf8.url, server.url('/%C3%BCn%C3%AF'))
  const abroad = await follow('POST', 307, other.url('/echo'))
  assert.equal(abroad.url, other.url('/echo'))
  assert.doesNotMatch(JSON.stringify(abroad.call), /canary|crumb/)
  const { accept, 'idempotency-key': key, 'content-type': type } = abroad.call.headers
  assert.deepEqual([accept, key, type], ['text/plain', 'k', 'text/x'])
  assert.doesNotMatch(JSON.stringify(server.calls.map((call) => call.headers)), /crumb/)
})

void test('tools.guard: a public server cannot redirect to an allowed private pair; a request that starts at one may go to another', () => {
  const pairs = permittedPairs(['orders.internal:8443', '10.0.0.7:8080'])
  assert.equal(reachableFrom('https://api.example.com/', pairs).size, 0)
  assert.throws(() => readTarget('http://10.0.0.7:8080/', reachableFrom('https://api.example.com/', pairs)), GuardRefused)
  assert.ok(readTarget('http://10.0.0.7:8080/', reachableFrom('https://orders.internal:8443/', pairs)).permitted)
})

void test('fault.private-address: an endless redirect, one too many, and one where none is followed are refused', async () => {
  const guard = guardOf(home())
  const earlier = server.calls.length
  await assert.rejects(guard.fetch(server.url('/loop'), request({ redirects: 3 })), { message: /more than 3 times/ })
  assert.equal(server.calls.length, earlier + 4)
  await assert.rejects(guard.fetch(server.url('/loop'), request({ redirects: 0 })), GuardRefused)
  await assert.rejects(async () => guard.webFetch(server.url('/loop')), GuardRefused)
  assert.equal(server.calls.length, earlier + 6)
})

void test('guard: a caller cannot set the headers of the connection', async () => {
  const headers = {
    Host: 'other.example.com',
    'Content-Length': '0',
    'Transfer-Encoding': 'chunked',
    Connection: 'keep-alive',
    'x-kept': '1',
  }
  const answer = await guardOf(home()).fetch(server.url('/echo'), request({ method: 'POST', body: 'body', headers, maxBytes: 10_000 }))
  const call = JSON.parse(textOf(answer.body))
  assert.deepEqual([call.headers.host, call.headers['content-length'], call.headers['x-kept'], call.body], [home(), '4', '1', 'body'])
  assert.equal(call.headers.connection, 'close')
})

void test('guard: no proxy of the environment is used, no cookie stored, and no connection reused', async (t) => {
  const variables = ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']
  for (const name of variables) process.env[name] = `http://127.0.0.1:${canary.port}`
  t.after(() => variables.forEach((name) => delete process.env[name]))
  const guard = guardOf(home())
  const [calls, connections] = [server.calls.length, canary.connections]
  server.on('/cookie', (_call, response) => void response.writeHead(200, { 'set-cookie': 'crumb=1' }).end())
  for (let n = 0; n < 3; n++) await guard.fetch(server.url('/cookie'), request())
  const seen = server.calls.slice(calls)
  assert.equal(canary.connections, connections)
  assert.deepEqual(
    seen.map((call) => call.headers.cookie),
    [undefined, undefined, undefined],
  )
  assert.equal(new Set(seen.map((call) => call.callerPort)).size, 3)
})

void test('guard: certificates are verified against the name', { skip: noTls() }, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'turnkeep-guard-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const open = async (name: string) => {
    const [key, cert] = [join(folder, `${name}.key`), join(folder, `${name}.pem`)]
    const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`]
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
    execFileSync('openssl', ['req', '-x509', ...kind, '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' })
    const listener = createTlsServer(
      { key: await readFile(key), cert: await readFile(cert) },
      (_request, response) => void response.end('secure'),
    )
    listener.listen(0, '127.0.0.1')
    await once(listener, 'listening')
    t.after(() => closed(listener))
    return { cert: await readFile(cert, 'utf8'), port: (listener.address() as AddressInfo).port }
  }
  const [right, wrong] = await Promise.all([open('localhost'), open('other.example.com')])
  const guard = guardOf(`localhost:${right.port}`, `localhost:${wrong.port}`, `127.0.0.1:${right.port}`)
  const ask = (host: string) => guard.fetch(`https://${host}/`, request())
  await assert.rejects(ask(`localhost:${right.port}`), { message: /TLS connection could not be established/ })
  const known = getCACertificates('default')
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
  t.after(() => delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'])
  setDefaultCACertificates([...known, right.cert, wrong.cert])
  t.after(() => setDefaultCACertificates(known))
  assert.equal(textOf((await ask(`localhost:${right.port}`)).body), 'secure')
  await assert.rejects(ask(`localhost:${wrong.port}`), { message: /TLS connection could not be established/ })
  await assert.rejects(ask(`127.0.0.1:${right.port}`), { message: /TLS connection could not be established/ })
})

function noTls(): string | false {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' })
    return false
  } catch {
    return 'no openssl here to make a certificate; install openssl'
  }
}
