/**
 * TURNKEEP_WORKERS above 1: several identical processes on one machine and one port. Starts them, replaces those that end, adds up their
 * metrics and drains them. Runs no turn and handles no request: each worker listens itself (SO_REUSEPORT), so a worker that dies loses only
 * its own connections. See docs/decisions/0015-workers.md.
 */
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { getCompileCacheDir } from 'node:module'
import { createServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import { dirname } from 'node:path'
import type { Logger } from 'pino'
import { createSharedPage } from './shared-page.ts'
import type { FromWorker, Ready, Role, ToWorker } from './worker-link.ts'

export type WorkersOptions = {
  count: number
  /** The file that a worker runs. */
  program: string
  environment: Record<string, string | undefined>
  ports: Ports
  makesDemo: boolean
  drainSeconds: number
  log: Logger
}

export type Ports = { port: number; adminPort: number | undefined }
type Listening = Ports & { host: string; adminHost: string }

/**
 * `code`: 0 drained, 1 a worker crashed during the drain or the first one crashed at its start, 2 could not start, with a line that says
 * why.
 */
export type WorkersEnd = { code: 0 | 1 | 2; line?: string | undefined }

export type Workers = {
  /** Resolves when all workers are ready for the first time, with the message of the first one. */
  ready: Promise<Ready>
  /** Resolves when no worker is left. */
  ended: Promise<WorkersEnd>
  drain(): void
  kill(): void
}

type Place = {
  number: number
  child: ChildProcess | undefined
  ready: Ready | undefined
  readySince: number
  /** The number of crashes in a row shortly after a start. */
  soonDead: number
  restart: NodeJS.Timeout | undefined
}

// A worker that keeps crashing is restarted twice a minute. One that crashes for the first time is replaced after 0.1 to 0.2 s.
const minPauseMs = 100
const maxPauseMs = 30_000
const soonMs = 60_000
// A worker ends its own drain. One that still runs then is stuck.
const drainGraceMs = 15_000

/**
 * Returns ports that no other program listens on, with 0 replaced by a free port. With SO_REUSEPORT alone, another program of this user
 * could listen on the same port and receive a part of the requests. Rejects with the error of the listener.
 */
export async function choosePorts({ host, adminHost, port, adminPort }: Listening): Promise<Ports> {
  const held: Server[] = []
  async function hold(wanted: number, at: string): Promise<number> {
    const server = createServer((socket) => socket.destroy()).listen(wanted, at)
    held.push(server)
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
  }
  try {
    // Both at the same time. Otherwise the same port set twice would be split between two servers.
    return { port: await hold(port, host), adminPort: adminPort === undefined ? undefined : await hold(adminPort, adminHost) }
  } finally {
    await Promise.all(held.map((server) => new Promise((resolve) => server.close(resolve))))
  }
}

/** The first worker starts alone: it migrates the database and creates the demo, and a start that cannot succeed is reported once. */
export function startWorkers({ count, program, environment, ports, makesDemo, drainSeconds, log }: WorkersOptions): Workers {
  const env = withCompileCache(environment)
  const places = Array.from({ length: count }, (_, index) => emptyPlace(index + 1))
  const [first, ...others] = places as [Place, ...Place[]]
  const ready = Promise.withResolvers<Ready>()
  const ended = Promise.withResolvers<WorkersEnd>()
  const page = createSharedPage()
  let othersStarted = false
  let started = false
  let ending: WorkersEnd | undefined
  let refusal: string | undefined

  const children = (): ChildProcess[] => places.flatMap(({ child }) => child ?? [])

  function start(place: Place): void {
    if (ending) return
    const role: Role = { number: place.number, ...ports, makesDemo: makesDemo && place === first && !started }
    const failed = (error: unknown): void => log.error({ err: error, worker: place.number }, 'could not start or reach worker')
    let child: ChildProcess
    try {
      child = fork(program, ['--worker', JSON.stringify(role)], {
        env,
        execArgv: [...process.execArgv, '--disable-sigusr1'],
        serialization: 'advanced',
      })
    } catch (error) {
      // Some errors of the system are thrown, such as a lack of memory, and others are emitted.
      failed(error)
      return gone(place, notStarted)
    }
    place.child = child
    child.on('error', failed)
    child.on('message', (message: FromWorker) => hear(place, child, message))
    void endOf(child).then((how) => gone(place, how))
  }

  function hear(place: Place, child: ChildProcess, message: FromWorker): void {
    switch (message.kind) {
      case 'ready':
        place.ready = message.ready
        place.readySince = performance.now()
        log.info({ worker: place.number, pid: child.pid }, 'worker ready')
        if (!othersStarted) others.forEach(start)
        othersStarted = true
        if (!started && places.every((one) => one.ready)) {
          started = true
          ready.resolve(first.ready!)
        }
        return
      case 'refused':
        refusal ??= message.line
        if (started) log.error({ worker: place.number, reason: message.line }, 'worker failed to start')
        return
      case 'page_wanted':
        return void writePage().then(
          (text) => send(child, { kind: 'page', id: message.id, text }),
          (error: unknown) => log.error({ err: error }, 'could not collect the metrics of all workers'),
        )
      case 'figures':
        return page.heard(place.number, message.figures, message.id)
    }
  }

  function writePage(): Promise<string> {
    const serving = places.filter((place) => place.ready)
    return page.write(serving.map(({ number, child }) => ({ number, ask: (id) => child && send(child, { kind: 'figures_wanted', id }) })))
  }

  function gone(place: Place, { code, signal }: WorkerEnd): void {
    const { ready: was, readySince } = place
    page.ended(place.number)
    Object.assign(place, { child: undefined, ready: undefined })
    if (ending) {
      if (was && code !== 0) ending.code ||= 1
    } else if (!started && (code === 2 || (place === first && !was))) {
      end({ code: code === 2 ? 2 : 1, line: refusal })
    } else {
      const soon = !was || performance.now() - readySince < soonMs
      place.soonDead = soon ? place.soonDead + 1 : 0
      const pauseMs = Math.min(maxPauseMs, minPauseMs * 2 ** place.soonDead)
      log[code === 0 ? 'info' : 'error']({ worker: place.number, code, signal, pauseMs }, 'worker exited, restarting it')
      page.restarted()
      place.restart = setTimeout(start, pauseMs, place)
    }
    if (ending && children().length === 0) ended.resolve(ending)
  }

  /** Only the first reason counts. */
  function end(how: WorkersEnd): void {
    if (ending) return
    ending = how
    for (const { restart } of places) clearTimeout(restart)
    for (const child of children()) send(child, { kind: 'drain' })
    const tooLong = (): void => {
      log.fatal('drain timeout exceeded: killing the remaining workers; another process or the next start recovers their turns')
      how.code ||= 1
      kill()
    }
    setTimeout(tooLong, drainSeconds * 1000 + drainGraceMs).unref()
    if (children().length === 0) ended.resolve(how)
  }

  function kill(): void {
    for (const child of children()) child.kill('SIGKILL')
  }

  start(first)
  return { ready: ready.promise, ended: ended.promise, drain: () => end({ code: 0 }), kill }
}

const emptyPlace = (number: number): Place => ({
  number,
  child: undefined,
  ready: undefined,
  readySince: 0,
  soonDead: 0,
  restart: undefined,
})

type WorkerEnd = { code: number | null; signal: NodeJS.Signals | null }
const notStarted: WorkerEnd = { code: null, signal: null }

/** Resolves when the worker has ended and all of its messages have arrived. */
function endOf(child: ChildProcess): Promise<WorkerEnd> {
  const ended = Promise.withResolvers<WorkerEnd>()
  const silent = Promise.withResolvers<void>()
  child.once('exit', (code, signal) => ended.resolve({ code, signal }))
  child.once('disconnect', silent.resolve)
  if (child.pid === undefined) return Promise.resolve(notStarted)
  return silent.promise.then(() => ended.promise)
}

/** A message to a worker that has just ended is lost; its end is noticed separately. */
function send(child: ChildProcess, message: ToWorker): void {
  if (child.connected) child.send(message, () => undefined)
}

/** Workers use the compile cache of the command. Node adds a folder for its own version. */
function withCompileCache(environment: WorkersOptions['environment']): WorkersOptions['environment'] {
  const folder = getCompileCacheDir()
  return folder === undefined ? environment : { ...environment, NODE_COMPILE_CACHE: dirname(folder) }
}
