/**
 * What a scenario is, and what the harness gives it. Types alone: bench.ts fulfils them, run.ts calls the scenarios by name. A scenario
 * starts its own servers through `Bench`, which ends them; it measures in rounds and answers rows of spreads, never a single figure.
 */
import type { Spread } from './spread.ts'

export type Scenario = {
  /** As in `--only`, and the first part of its heading. */
  name: string
  /** What is done and what it shows, for the page. */
  sentence: string
  run(bench: Bench): Promise<Finding>
}

export type Finding = {
  /** Lines of the table, all with the same labels and figures, as far as they have them. */
  rows: Row[]
  plots?: Plot[]
  /** What a reader must know about these figures; each a sentence. */
  notes?: string[]
  /** Why nothing was measured here; the scenario is then named as not run, and its goals too. */
  notRun?: string
}

export type Row = {
  /** What was measured, the table's first columns: `{ server: 'turnkeep', callers: 64 }`. Server names stand under `server`. */
  labels: Record<string, string | number>
  /** By the heading of their column (`headings` of spread.ts, or one of the scenario's own), with the unit in it. */
  figures: Record<string, Spread>
}

export type Plot = {
  /** The file's name, without folder and ending. */
  file: string
  title: string
  /** With the unit. */
  x: string
  y: string
  kind: 'lines' | 'bars'
  /** For bars, x is the name of the bar's group. */
  series: { name: string; points: { x: number | string; y: Spread }[] }[]
}

export type StoreKind = 'sqlite' | 'postgres'

export type ServerOptions = {
  /** By default sqlite; `postgres` brings a durable PostgreSQL and a Redis of its own, both ended with the server. */
  store?: StoreKind
  /** More settings of the server. */
  env?: Record<string, string>
  /** More arguments of node, before the program. */
  nodeArguments?: string[]
  /** Every fsync and fdatasync of whoever writes the store takes so much longer; see `Bench.noShim`. */
  slowerFlushMs?: number
  /** A data folder that is there already, left as it is afterwards; otherwise an empty one of its own. */
  folder?: string
  /** Files that it may hold open, where the machine lets it. */
  openFiles?: number
}

/** One request, whose texts may hold `{{user}}`, `{{text}}` and `{{key}}`: filled in anew for each turn. */
export type Call = {
  path: string
  headers: Record<string, string>
  /** JSON. */
  body: string
  /** What a whole answer of 2xx must hold, every one of them. */
  whole: string[]
  /** Its share is told apart in `Load.byLabel`: a tenant. */
  label?: string
}

export type Mode = 'sync' | 'stream'

/** An agent with its key, of one owner. */
export type Tenant = {
  ownerId: string
  agentId: string
  apiKey: string
  call(mode: Mode, label?: string): Call
}

/** Anything that is measured: our server, a peer, the upstream itself. */
export type Target = {
  name: string
  base: string
  /** Its process; all of the processes below it are counted with it. */
  pid: number
  /** The process of its PostgreSQL, told apart from its own. */
  databasePid?: number
  call(mode: Mode): Call
  /** SIGTERM, and waits for the end; the bench does it too for what a scenario leaves. */
  stop(): Promise<void>
}

export type Server = Target & {
  /** Its data folder. */
  folder: string
  /** Spawned to 200 of /readyz, milliseconds. */
  startMs: number
  /** The first tenant; `call` is its. Rate limits are lifted and balances cover everything. */
  tenant: Tenant
  /** One more owner with an agent and a key. */
  makeTenant(agent?: Record<string, unknown>): Promise<Tenant>
  /** A call of the admin API below /admin/v1, answered as it was parsed; throws on anything but 2xx. */
  admin(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<Record<string, unknown>>
  /** Turns that the store has, by /admin/v1/usage: the sum of its states. */
  usage(): Promise<{ completed: number; failed: number; released: number }>
  /** The database's address where the store is PostgreSQL. */
  databaseUrl?: string
}

export type Pace = {
  /** Of a reply; 50 where not said. */
  chunks?: number
  /** To the first chunk, and between chunks, milliseconds; 0 and 0 write the whole reply at once. */
  firstMs?: number
  gapMs?: number
}

export type Upstream = Target & {
  /** As `base_url` of a provider. */
  modelUrl: string
  configure(pace: Pace): Promise<void>
  /** Since the last `configure`. */
  stats(): Promise<{ calls: number; left: number }>
}

export type LoadSpec = {
  base: string
  /** Taken in turn. */
  calls: Call[]
  /** At once; with `perSecond` the most that are out at once. */
  callers: number
  /** Whichever comes first; what is out then is awaited. */
  seconds?: number
  turns?: number
  /**
   * End users, a multiple of `callers` or fewer than it: a caller takes every one of his share in turn. Absent: every turn begins a
   * conversation.
   */
  users?: string[]
  /** Idempotency keys, shared out like the users, with the same text for all. Absent: every turn has a key and a text of its own. */
  keys?: string[]
  /** The keys were used before: answers are replays, and no turn is added. */
  replays?: boolean
  /** Arrivals a second, whether or not the former have been answered: an open loop. Absent: a caller asks again when he is answered. */
  perSecond?: number
  /** Client processes that share the callers; 1 where not said, and one for each 500 callers above. */
  processes?: number
  /** Milliseconds after which an answer is given up and counted as an error; 120,000 where not said. */
  timeoutMs?: number
  /** Text of a message; it is marked by a number in any case. */
  message?: string
}

/** Of whole answers, all times in milliseconds. */
export type Times = { p50: number; p99: number; most: number }

export type Load = {
  /** Whole answers of 2xx. */
  turns: number
  seconds: number
  perSecond: number
  /** From the request to the last byte. */
  total: Times
  /** From the request to the first token, of calls that showed one before their end; in sync mode the same as `total`. */
  firstDelta: Times
  /** 503 and 429, which are an answer: how many, how fast, how many of them said `Retry-After`, and what they said. */
  refused: { count: number; withRetryAfter: number; total: Times; reasons: Record<string, number> }
  /** Everything else that was no whole answer, by what it was. */
  errors: Record<string, number>
  /** Arrivals of an open loop for which no caller was free. */
  unsent: number
  /** By label of the calls. */
  byLabel: Record<string, { turns: number; refused: number; errors: number; total: Times; firstDelta: Times }>
  /** By whole seconds since the load began, of when the answer ended. */
  timeline: { turns: number; refused: number; errors: number }[]
  clientCpuMs: number
}

/** A load with what it cost whom. */
export type Measured = Load & {
  cpuMsPerTurn: number
  /** Undefined without a PostgreSQL. */
  databaseCpuMsPerTurn: number | undefined
  upstreamCpuMsPerTurn: number
  clientCpuMsPerTurn: number
}

export type Bench = {
  rounds: number
  /** Of one measurement. */
  seconds: number
  /** A look, not a measurement: scenarios take their smallest sizes. */
  quick: boolean
  soakMinutes: number
  /** Made when it is first asked for; one for the whole run. */
  upstream(): Promise<Upstream>
  startServer(options?: ServerOptions): Promise<Server>
  /** The peers named by `--with`, started; empty without. Scenarios which compare begin with them. */
  startPeers(): Promise<(Target & { startMs: number })[]>
  load(spec: LoadSpec): Promise<Load>
  /** A load, with the CPU of the target's tree and of the upstream while it ran. Throws where a single answer was not whole. */
  measure(target: Target, spec: Omit<LoadSpec, 'base'>): Promise<Measured>
  /** `rounds` times, one after the other: every contender once a round, so that noise meets all. */
  eachRound<Result>(once: (round: number) => Promise<Result>): Promise<Result[]>
  /** Throws where the server's store has not as many completed turns as whole answers were counted. Replays are answers and no turns. */
  audit(server: Server): Promise<void>
  /** Of a process and all below it. */
  cpuMs(pid: number): number
  rssMb(pid: number): number
  /** Why a flush cannot be slowed here; false where it can. */
  noShim(): string | false
  /** Why a server on PostgreSQL and Redis cannot be started here; false where it can. */
  noPostgres(): string | false
  /** A folder that is gone with the run. */
  makeFolder(): string
  /** A line of progress on stderr. */
  say(line: string): void
}
