/**
 * The process in which documents are read, from outside: it may crash and the server continues; it ends with its server; it has nothing of
 * the server's, and a reader that a file has taken over can do no harm. What is read: documents-reading.test.ts.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { createExtractor } from '../src/agent/documents/extractor.ts'
import type { DocumentToRead, Extractor } from '../src/agent/documents/extractor.ts'
import { maxReadMs } from '../src/agent/documents/limits.ts'
import { ReadingBrokenOff } from '../src/agent/documents/reading-process.ts'
import { confinement } from '../src/process/confinement.ts'
import { until } from './support/until.ts'
import { readingProcessesOf } from './support/reading-processes.ts'

const root = join(import.meta.dirname, '..')
const logBook = readFileSync(join(import.meta.dirname, 'data', 'documents', 'log-book.pdf'))
const log = { warn: () => undefined }

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

const { signal } = new AbortController()

function document(bytes: Uint8Array, given: Partial<DocumentToRead> = {}): DocumentToRead {
  return { parts: one(bytes), fileName: null, mediaType: null, isText: false, onProgress: () => undefined, signal, ...given }
}

function open(t: TestContext): Extractor {
  const extractor = createExtractor({ log })
  t.after(() => extractor.close())
  return extractor
}

/** The one of this process. */
function readingProcess(): number {
  const [pid, ...others] = readingProcessesOf(process.pid)
  assert.ok(pid !== undefined && others.length === 0, `${others.length + (pid === undefined ? 0 : 1)} processes read`)
  return pid
}

void test('documents: when the reading process dies during a document, that document is aborted and the next one is read', async (t) => {
  const extractor = open(t)
  for (const signal of ['SIGKILL', 'SIGABRT'] as const) {
    let killed = 0
    const onProgress = (): void => {
      if (killed++ === 0) process.kill(readingProcess(), signal)
    }
    await assert.rejects(extractor.read(document(logBook, { onProgress })), (error) => {
      assert.ok(error instanceof ReadingBrokenOff)
      assert.equal(error.message, `the process that reads documents was ended by ${signal}`)
      return true
    })
    assert.equal((await extractor.read(document(Buffer.from('The harbour is open.')))).chunks, 1)
  }
  process.kill(readingProcess(), 'SIGKILL')
  await assert.rejects(extractor.take(0, 1, signal), ReadingBrokenOff)
})

void test('documents: a reading process that freezes after it has read is ended by an abort and by the time limit', async (t) => {
  const extractor = open(t)
  const freeze = async (): Promise<number> => {
    await extractor.read(document(Buffer.from('The harbour is open.')))
    const pid = readingProcess()
    process.kill(pid, 'SIGSTOP')
    return pid
  }
  const aborting = new AbortController()
  const first = await freeze()
  const aborted = extractor.take(0, 1, aborting.signal)
  aborting.abort(new Error('the claim is lost'))
  await assert.rejects(aborted, /^Error: the claim is lost$/)
  await until('it is gone', () => !isThere(first))

  const second = await freeze()
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const late = extractor.take(0, 1, signal)
  t.mock.timers.tick(5 * maxReadMs)
  t.mock.timers.reset()
  await assert.rejects(late, ReadingBrokenOff)
  await until('it is gone too', () => !isThere(second))
  assert.equal((await extractor.read(document(Buffer.from('The harbour is open.')))).chunks, 1)
})

void test('documents: signals that a terminal sends to all its processes do not end the reading process', async (t) => {
  const extractor = open(t)
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  let reported = 0
  const onProgress = (): void => {
    for (const signal of reported++ === 0 ? signals : []) process.kill(readingProcess(), signal)
  }
  assert.equal((await extractor.read(document(logBook, { onProgress }))).chunks, 300)
  assert.ok(reported > 0)
  assert.equal((await extractor.take(290, 50, signal)).length, 10)
})

/** A server reduced to its extractor; `through` is what starts it, if it is not started directly. */
async function startReader(t: TestContext, then: string, through: string[] = []): Promise<ReturnType<typeof spawn>> {
  const program = `
    import { createExtractor } from './src/agent/documents/extractor.ts'
    const extractor = createExtractor({ log: { warn() {} } })
    async function* one(bytes) { yield bytes }
    const read = (bytes) => extractor.read(
      { parts: one(bytes), fileName: 'a.html', mediaType: null, isText: false, onProgress() {}, signal: new AbortController().signal })
    ${then}`
  const [command, ...args] = [...through, process.execPath, '--input-type=module', '--eval', program]
  const child = spawn(command!, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  return child
}

void test('documents: a server without a free file descriptor for a new process aborts the document and reads the next one', async (t) => {
  const server = await startReader(
    t,
    `import { closeSync, openSync } from 'node:fs'
    const held = []
    const hold = () => { for (;;) held.push(openSync('/dev/null')) }
    try { hold() } catch (error) { console.log(error.code) }
    await read(Buffer.from('<p>x')).catch((error) => console.log(error.constructor.name, error.cause.code))
    for (const file of held) closeSync(file)
    console.log((await read(Buffer.from('<p>The harbour is open.'))).chunks)
    await extractor.close()`,
    ['sh', '-c', 'ulimit -n 256; exec "$0" "$@"'],
  )
  let output = ''
  server.stdout!.setEncoding('utf8').on('data', (text: string) => (output += text))
  const [code] = await Promise.race([once(server, 'close'), wait(120_000, ['it goes on'], { ref: false })])
  assert.deepEqual([code, output], [0, 'EMFILE\nReadingBrokenOff EMFILE\n1\n'])
})

void test('documents: a killed server takes its reading process with it, in the middle of a document', async (t) => {
  const server = await startReader(t, `await read(Buffer.alloc(8 * 1024 * 1024, '<p>x'))`)
  const ended = once(server, 'exit')
  // It computes, and would for seconds.
  const cpuOf = (pid: number): number => Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')[11])
  await until('it reads', () => readingProcessesOf(server.pid!).some((pid) => cpuOf(pid) > 100))
  const [pid] = readingProcessesOf(server.pid!)
  server.kill('SIGKILL')
  await ended
  t.after(() => isThere(pid!) && process.kill(pid!, 'SIGKILL'))
  await until('it is gone too', () => !isThere(pid!), 20_000)
})

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

void test('documents: an idle reading process does not keep its server alive', async (t) => {
  const server = await startReader(t, `console.log((await read(Buffer.from('<p>The harbour is open.'))).chunks)`)
  let output = ''
  server.stdout!.setEncoding('utf8').on('data', (text: string) => (output += text))
  const [code] = await Promise.race([once(server, 'close'), wait(120_000, ['it goes on'], { ref: false })])
  assert.deepEqual([code, output], [0, '1\n'])
})

void test('documents: the reading process has no socket, file or setting of its server', async (t) => {
  const extractor = open(t)
  const listening = createServer().listen(0, '127.0.0.1')
  await once(listening, 'listening')
  t.after(() => listening.close())
  await extractor.read(document(Buffer.from('The harbour is open.')))
  const pid = readingProcess()
  const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean)
  assert.deepEqual(
    environment.filter((line) => !/^NODE_CHANNEL_(?:FD|SERIALIZATION_MODE)=/.test(line)),
    [],
  )
  const held = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`))
  const others = held.filter((file) => !/^(?:\/dev\/null|(?:pipe|socket|anon_inode):.*)$/.test(file))
  assert.deepEqual(
    others.filter((file) => !leftOpen().includes(file)),
    [],
  )
  // Its end of the channel and of the pipe for its last output.
  const sockets = held.filter((file) => file.startsWith('socket:')).map((file) => /\d+/.exec(file)![0])
  const listeners = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/)[9])
  assert.ok(listeners.length > 2)
  assert.deepEqual(
    sockets.filter((inode) => listeners.includes(inode)),
    [],
  )
  assert.equal(readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8'), '1000\n')
})

/** Descriptors that the test run's parent left open to its children; Node's own files are closed to it. */
function leftOpen(): string[] {
  const closeOnExec = 0o2000000
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    if (!existsSync(`/proc/self/fdinfo/${fd}`)) return []
    const flags = /^flags:\s+(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))![1]!
    return Number.parseInt(flags, 8) & closeOnExec ? [] : readlinkSync(`/proc/self/fd/${fd}`)
  })
}

/**
 * An extractor whose reader does what a file wants, instead of decoding a text. `folder` is that of its code. `broken`: it is not confined
 * by its own code, as if the file had got out of JavaScript.
 */
async function openTakenOver(t: TestContext, decodeText: string, broken = false): Promise<{ extractor: Extractor; folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-test-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const module of ['agent', 'process']) cpSync(join(root, 'src', module), join(folder, 'src', module), { recursive: true })
  cpSync(join(root, 'package.json'), join(folder, 'package.json'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'src', 'agent', 'documents', 'decode.ts'), decodeText)
  // So that it may wait for what it tries.
  const reader = join(folder, 'src', 'agent', 'documents', 'extract.ts')
  writeFileSync(reader, readFileSync(reader, 'utf8').replaceAll(' decodeText({', ' await decodeText({'))
  if (broken) writeFileSync(join(folder, 'src', 'agent', 'documents', 'confine-code.js'), '')
  const copy = (await import(join(folder, 'src', 'agent', 'documents', 'extractor.ts'))) as { createExtractor: typeof createExtractor }
  const extractor = copy.createExtractor({ log, maxHeapMegabytes: 64 })
  t.after(() => extractor.close())
  return { extractor, folder }
}

void test('documents: a full heap is reported as the reason, whether V8 ends the thread or the whole process', async (t) => {
  for (const [filling, who] of [
    ['{}', 'the thread'],
    // It grows by more than is left, which V8 treats as fatal.
    ['0.5', 'the process'],
  ]) {
    const { extractor } = await openTakenOver(t, `export function decodeText() { const all = []; for (;;) all.push(${filling}) }`)
    await assert.rejects(extractor.read(document(Buffer.from('x'))), /^Error: Reading this document needs too much memory/, who)
    await extractor.close()
  }
})

void test('documents: a reader that a file has taken over reads no other file, writes none, runs no program and evaluates no text', async (t) => {
  const { extractor, folder } = await openTakenOver(t, takenOver)
  writeFileSync(join(folder, 'admin.token'), 'secret')
  await extractor.read(document(Buffer.from(folder), { isText: true }))
  const [chunk] = await extractor.take(0, 1, signal)
  assert.deepEqual(JSON.parse(chunk!.text), {
    'its own code': 'done',
    'a secret': 'ERR_ACCESS_DENIED',
    'the compiled code of others': 'ERR_ACCESS_DENIED',
    'a file of its own': 'ERR_ACCESS_DENIED',
    'a program': 'ERR_ACCESS_DENIED',
    'a thread without limits': 'ERR_ACCESS_DENIED',
    'a text as a program': 'EvalError',
  })
})

void test('documents: a reader that a file has taken over cannot claim more passages than a document may have', async (t) => {
  for (const chunks of ['20_001', '-1', '0.5', 'NaN', '"9"']) {
    const { extractor } = await openTakenOver(
      t,
      `import { parentPort } from 'node:worker_threads'
      export function decodeText() {
        parentPort.postMessage({ kind: 'read', title: null, chunks: ${chunks}, bytes: 1 })
        return 'x'
      }`,
    )
    await assert.rejects(
      extractor.read(document(Buffer.from('x'))),
      /^Error: a process that was to read has answered with an invalid number/,
    )
    assert.deepEqual(readingProcessesOf(process.pid), [])
  }
})

const takenOver = `
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'

export function decodeText({ bytes }: { bytes: Uint8Array }): string {
  const folder = Buffer.from(bytes).toString()
  const wishes: Record<string, () => unknown> = {
    'its own code': () => readFileSync(join(folder, 'src/agent/documents/decode.ts')),
    'a secret': () => readFileSync(join(folder, 'admin.token')),
    'the compiled code of others': () => writeFileSync(join(folder, 'node_modules/.cache/turnkeep/taken-over'), ''),
    'a file of its own': () => writeFileSync(join(folder, 'taken-over'), ''),
    'a program': () => {
      const { error } = spawnSync('true')
      if (error) throw error
    },
    'a thread without limits': () => new Worker('0', { eval: true, execArgv: [] }),
    'a text as a program': () => new Function('return 1')(),
  }
  const outcomes = Object.entries(wishes).map(([wish, fulfil]) => {
    try {
      fulfil()
      return [wish, 'done']
    } catch (error) {
      return [wish, error.code ?? error.name]
    }
  })
  return JSON.stringify(Object.fromEntries(outcomes))
}
`

/** Of what a taken-over reader tries to reach: a server on this machine, a socket in a folder, and this process. */
async function startVictims(t: TestContext): Promise<{ port: number; path: string; connections: () => number; signals: () => number }> {
  let [connections, signals] = [0, 0]
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-test-'))
  const path = join(folder, 'socket')
  const [tcp, local] = [createServer(), createServer()]
  for (const server of [tcp, local]) server.on('connection', (socket) => void (connections++, socket.destroy()))
  await Promise.all([once(tcp.listen(0, '127.0.0.1'), 'listening'), once(local.listen(path), 'listening')])
  const onSignal = (): void => void signals++
  process.on('SIGWINCH', onSignal)
  t.after(() => {
    process.off('SIGWINCH', onSignal)
    for (const server of [tcp, local]) server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return { port: (tcp.address() as AddressInfo).port, path, connections: () => connections, signals: () => signals }
}

async function outcomesOf(extractor: Extractor, wishes: object): Promise<Record<string, string>> {
  await extractor.read(document(Buffer.from(JSON.stringify(wishes)), { isText: true }))
  const [chunk] = await extractor.take(0, 1, signal)
  return JSON.parse(chunk!.text) as Record<string, string>
}

void test('documents: a reader that a file has taken over opens no connection and signals no process', async (t) => {
  const victims = await startVictims(t)
  const { extractor } = await openTakenOver(t, reachingOut)
  assert.deepEqual(await outcomesOf(extractor, { port: victims.port, path: victims.path, pid: process.pid }), {
    'a connection': 'ERR_ACCESS_DENIED',
    'a local socket': 'ERR_ACCESS_DENIED',
    'a datagram': 'ERR_ACCESS_DENIED',
    'a name lookup': 'ERR_ACCESS_DENIED',
    'a web socket': 'ReferenceError',
    'a request': 'ERR_ACCESS_DENIED',
    'a signal to the server': 'ERR_ACCESS_DENIED',
    'a signal to its parent': 'ERR_ACCESS_DENIED',
    'a signal to its group': 'ERR_ACCESS_DENIED',
    'a signal to all': 'ERR_ACCESS_DENIED',
    'a program': 'ERR_ACCESS_DENIED',
    'a file outside': 'ERR_ACCESS_DENIED',
  })
  assert.deepEqual([victims.connections(), victims.signals()], [0, 0])
})

void test('documents: where the system confines it, a reader that has got out of JavaScript reaches no network and no process either', async (t) => {
  const { command, words } = await confinement()
  if (command.length === 0) return assert.match(words, /no namespaces|not installed|does not allow namespaces/)
  const victims = await startVictims(t)
  const { extractor } = await openTakenOver(t, reachingOut, true)
  const outcomes = await outcomesOf(extractor, { port: victims.port, path: victims.path, pid: process.pid })
  for (const wish of ['a connection', 'a datagram', 'a name lookup', 'a request']) assert.notEqual(outcomes[wish], 'done', wish)
  // Its own shell may get these, and the number of this process means nothing to it.
  assert.ok(['ESRCH', 'EPERM'].includes(outcomes['a signal to the server']!), outcomes['a signal to the server'])
  assert.deepEqual([victims.signals(), outcomes['a program'], outcomes['a file outside']], [0, 'ERR_ACCESS_DENIED', 'ERR_ACCESS_DENIED'])
})

const reachingOut = `
import { createRequire } from 'node:module'
const require = createRequire(import.meta.url)
const opened = (socket) => new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject))

export async function decodeText({ bytes }: { bytes: Uint8Array }): Promise<string> {
  const { port, path, pid } = JSON.parse(Buffer.from(bytes).toString())
  const wishes: Record<string, () => unknown> = {
    'a connection': () => opened(require('node:net').connect(port, '127.0.0.1')),
    'a local socket': () => opened(require('net').connect(path)),
    'a datagram': () => new Promise((resolve, reject) =>
      require('node:dgram').createSocket('udp4').send('x', 9, '192.0.2.1', (error) => (error ? reject(error) : resolve(undefined)))),
    'a name lookup': () => process.getBuiltinModule('dns/promises').resolve4('example.com'),
    'a web socket': () => new WebSocket('ws://127.0.0.1:' + port),
    'a request': () => fetch('http://127.0.0.1:' + port),
    'a signal to the server': () => process.kill(pid, 'SIGWINCH'),
    'a signal to its parent': () => process.kill(process.ppid, 'SIGWINCH'),
    'a signal to its group': () => process.kill(0, 'SIGCONT'),
    'a signal to all': () => process.kill(-1, 'SIGCONT'),
    'a program': () => require('node:child_process').execFileSync('/bin/true'),
    'a file outside': () => require('node:fs').readFileSync('/etc/hostname'),
  }
  const outcomes: Record<string, string> = {}
  for (const [wish, fulfil] of Object.entries(wishes)) {
    try {
      await fulfil()
      outcomes[wish] = 'done'
    } catch (error) {
      outcomes[wish] = error.code ?? error.cause?.code ?? error.name
    }
  }
  return JSON.stringify(outcomes)
}
`
