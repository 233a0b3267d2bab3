/**
 * What a scenario is, and what the harness provides. Types only: bench.ts implements them, run.ts calls the scenarios by name. A scenario
 * starts its servers through `Bench`, which ends them. It measures in rounds and returns rows of spreads, never a single figure.
 */
import type { Spread } from './spread.ts'

export type Scenario = {
  /** The name for `--only`, and the first part of its heading. */
  name: string
  /** What is done and what it shows, for the page. */
  sentence: string
  run(bench: Bench): Promise<Finding>
}

export type Finding = {
  /** Rows of the table, all with the same labels and figures; a figure may be missing. */
  rows: Row[]
  plots?: Plot[]
  /** What a reader must know about these figures; each is a sentence. */
  notes?: string[]
  /** Why nothing was measured. The scenario is then listed as not run, and so are its goals. */
  notRun?: string
}

export type Row = {
  /** What was measured, as the first columns of the table: `{ server: 'turnkeep', callers: 64 }`. The name of a server is in `server`. */
  labels: Record<string, string | number>
  /** By column heading (`headings` of spread.ts, or one of the scenario), which contains the unit. */
  figures: Record<string, Spread>
}

export type Plot = {
  /** The file name without folder and extension. */
  file: string
  title: string
  /** With the unit. */
  x: string
  y: string
  kind: 'lines' | 'bars'
  /** For bars, x is the name of the group. */
  series: { name: string; points: { x: number | string; y: Spread }[] }[]
}

export type StoreKind = 'sqlite' | 'postgres'

export type ServerOptions = {
  /** SQLite by default; `postgres` starts a private durable PostgreSQL and Redis, which end with the server. */
  store?: StoreKind
  /** Additional settings of the server. */
  env?: Record<string, string>
  /** Additional arguments of node, before the program. */
  nodeArguments?: string[]
  /** Every fsync and fdatasync of the process that writes the store takes this much longer; see `Bench.noShim`. */
  slowerFlushMs?: number
  /** An existing data folder, which is kept; otherwise a new empty one. */
  folder?: string
  /** The number of files that it may open, if the machine allows it. */
  openFiles?: number
}

/** One request, whose texts may contain `{{user}}`, `{{text}}` and `{{key}}`, which are replaced for each turn. */
export type Call = {
  path: string
  headers: Record<string, string>
  /** JSON. */
  body: string
  /** What every complete 2xx response must contain. */
  whole: string[]
  /** Its share is reported separately in `Load.byLabel`: a tenant. */
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
  /** Its process; all descendants are counted with it. */
  pid: number
  /** The processes of its PostgreSQL and its Redis, counted separately. */
  databasePids?: number[]
  call(mode: Mode): Call
  /** SIGTERM, and waits for the end. The bench does it for servers that a scenario leaves running. */
  stop(): Promise<void>
}

export type Server = Target & {
  /** Its data folder. */
  folder: string
  /** Milliseconds from the spawn to the first 200 of /readyz. */
  startMs: number
  /** The first tenant, which `call` uses. Rate limits and balances are high enough for everything. */
  tenant: Tenant
  /** Another owner with an agent and a key. */
  makeTenant(agent?: Record<string, unknown>): Promise<Tenant>
  /** A call of the admin API below /admin/v1; returns the parsed response and throws unless it is 2xx. */
  admin(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<Record<string, unknown>>
  /** The number of turns in the store, from /admin/v1/usage: the sum over all states. */
  usage(): Promise<{ completed: number; failed: number; released: number }>
  /** The URL of the database if the store is PostgreSQL. */
  databaseUrl?: string
}

export type Pace = {
  /** Of a reply; 50 by default. */
  chunks?: number
  /** Milliseconds to the first chunk and between chunks; 0 and 0 write the whole reply at once. */
  firstMs?: number
  gapMs?: number
}

export type Upstream = Target & {
  /** For `base_url` of a provider. */
  modelUrl: string
  configure(pace: Pace): Promise<void>
  /** Since the last `configure`. */
  stats(): Promise<{ calls: number; left: number }>
}

export type LoadSpec = {
  base: string
  /** Used alternately. */
  calls: Call[]
  /** Concurrent callers; with `perSecond` the maximum of concurrent requests. */
  callers: number
  /** Whichever comes first; requests in progress are awaited. */
  seconds?: number
  turns?: number
  /**
   * End users, a multiple of `callers` or fewer than it: a caller uses its share of them alternately. Absent: every turn starts a
   * conversation.
   */
  users?: string[]
  /** Idempotency keys, divided like the users, all with the same text. Absent: every turn has its own key and text. */
  keys?: string[]
  /** The keys were used before: responses are replays, and no turn is added. */
  replays?: boolean
  /**
   * Arrivals per second, whether or not earlier ones have been answered: an open loop. Absent: a caller sends its next request after the
   * response.
   */
  perSecond?: number
  /** The callers begin one after the other within this time. Absent: all at the same instant. */
  spreadMs?: number
  /** Client processes that share the callers; by default 1, and one for each 500 callers above that. */
  processes?: number
  /** Milliseconds after which a request is given up and counted as an error; 120,000 by default. */
  timeoutMs?: number
  /** The text of a message; a number is added in any case. */
  message?: string
}

/** For complete responses, all times in milliseconds. */
export type Times = { p50: number; p99: number; most: number }

export type Load = {
  /** Complete 2xx responses. */
  turns: number
  seconds: number
  perSecond: number
  /** From the request to the last byte. */
  total: Times
  /** From the request to the first token, of calls that received one before the end; in sync mode the same as `total`. */
  firstDelta: Times
  /** 503 and 429, which are valid responses: how many, how fast, how many with `Retry-After`, and their codes. */
  refused: { count: number; withRetryAfter: number; total: Times; reasons: Record<string, number> }
  /** All other responses that were not complete, by what they were. */
  errors: Record<string, number>
  /** Arrivals of an open loop for which no caller was free. */
  unsent: number
  /** By label of the calls. */
  byLabel: Record<string, { turns: number; refused: number; errors: number; total: Times; firstDelta: Times }>
  /** By whole seconds from the start of the load to the end of the response. */
  timeline: { turns: number; refused: number; errors: number }[]
  clientCpuMs: number
}

/** A load with the CPU time of each process. */
export type Measured = Load & {
  cpuMsPerTurn: number
  /** PostgreSQL and Redis; undefined without them. */
  databaseCpuMsPerTurn: number | undefined
  upstreamCpuMsPerTurn: number
  clientCpuMsPerTurn: number
}

export type Bench = {
  rounds: number
  /** For one measurement. */
  seconds: number
  /** A quick check, not a measurement: scenarios use their smallest sizes. */
  quick: boolean
  soakMinutes: number
  /** Of the largest PostgreSQL that is filled; 0 for the usual sizes only. */
  storedTurns: number
  /** Created when it is first needed; one for the whole run. */
  upstream(): Promise<Upstream>
  startServer(options?: ServerOptions): Promise<Server>
  /** The peers named with `--with`, started; empty without. Scenarios with comparisons start with them. */
  startPeers(): Promise<(Target & { startMs: number })[]>
  load(spec: LoadSpec): Promise<Load>
  /** A load, with the CPU time of the target's processes and of the upstream while it ran. Throws if a response was not complete. */
  measure(target: Target, spec: Omit<LoadSpec, 'base'>): Promise<Measured>
  /** `rounds` times, one after the other: every contender once per round, so that disturbances affect all of them. */
  eachRound<Result>(once: (round: number) => Promise<Result>): Promise<Result[]>
  /**
   * Throws if the server's store has not as many completed turns as there were complete responses. Replays are responses without a turn.
   */
  audit(server: Server): Promise<void>
  /** Of a process and its descendants. */
  cpuMs(pid: number): number
  rssMb(pid: number): number
  /** Why a flush cannot be delayed here, or false. */
  noShim(): string | false
  /** Why a server on PostgreSQL and Redis cannot be started here, or false. */
  noPostgres(): string | false
  /** A folder that is removed after the run. */
  makeFolder(): string
  /** A progress line on stderr. */
  say(line: string): void
}
