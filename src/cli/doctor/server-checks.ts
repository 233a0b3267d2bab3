/** What `turnkeep doctor` sees of the running server from outside: port, readiness, clock, admin token, providers. Changes nothing. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Config } from '../../config/config.ts'
import type { AdminClient } from '../admin-api/client.ts'
import { CommandFailed, causeOf } from '../terminal/command-failed.ts'
import { fail, ok, warn } from './finding.ts'
import type { Finding } from './finding.ts'
import { findPortHolder } from './port-holder.ts'

/** `ours`: /readyz answers as Turnkeep's. */
export type Probe =
  | { kind: 'ours'; status: string; store: string; skewMs: number }
  | { kind: 'stranger'; status: number }
  | { kind: 'silent'; reason: string }

// A local server answers in milliseconds, one across the world in one second.
const probeTimeoutMs = 5_000
// `Date` has whole seconds, and the answer took a moment: below this it is no skew.
const maxSkewMs = 5_000

export async function probe(url: string): Promise<Probe> {
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(probeTimeoutMs), redirect: 'manual' })
    const body = await response.json().catch(() => undefined)
    const fields: Record<string, unknown> = typeof body === 'object' && body !== null ? { ...body } : {}
    const { status, store } = fields
    if (typeof status !== 'string' || typeof store !== 'string') return { kind: 'stranger', status: response.status }
    return { kind: 'ours', status, store, skewMs: Date.now() - Date.parse(response.headers.get('date') ?? '') }
  } catch (error) {
    return { kind: 'silent', reason: causeOf(error) }
  }
}

/** Only where nothing of ours answers there. */
export async function checkPort({ host, port }: Config, found: Probe): Promise<Finding> {
  if (found.kind === 'ours') return ok('port', `${host}:${port} is served by Turnkeep`)
  const server = createServer()
  try {
    server.listen({ port, host, exclusive: true })
    await once(server, 'listening')
    return ok('port', port === 0 ? 'any free one is taken' : `${host}:${port} is free`)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'EADDRINUSE') {
      const holder = findPortHolder(port)
      const by = holder ? `another program: ${holder.program}, process ${holder.pid}` : 'another program'
      return fail('port', `${host}:${port} is in use by ${by}`, 'Set PORT to a free one, or end that program.')
    }
    if (code === 'EACCES') return fail('port', `${host}:${port} may not be listened on by this user`, 'Set PORT to 1024 or more.')
    return fail('port', `${host}:${port} cannot be listened on: ${causeOf(error)}`, 'Set TURNKEEP_HOST to an address of this machine.')
  } finally {
    server.close()
  }
}

/** `expected`: somebody said that a server is there, by a flag, a setting or the folder's lock. */
export function checkServer(url: string, found: Probe, expected: boolean): Finding[] {
  if (found.kind === 'silent') {
    const says = `no answer from ${url} (${found.reason})`
    return [
      expected
        ? fail('server', says, 'Is it still starting, or does it listen elsewhere? Compare PORT, TURNKEEP_HOST and its log.')
        : warn('server', says, 'Start it: npx turnkeep serve'),
    ]
  }
  if (found.kind === 'stranger')
    return [
      fail(
        'server',
        `${url} answers ${found.status}, but not as Turnkeep`,
        'Another program or a proxy answers there: compare the address and the proxy’s routes.',
      ),
    ]
  const ready =
    found.status !== 'ready'
      ? warn('server', `${url} is ${found.status}`, 'It is ending; wait for it, then start it again.')
      : found.store !== 'ok'
        ? fail('server', `${url} answers, but its store is ${found.store}`, 'Look at its log; a full disk is the usual cause.')
        : ok('server', `${url} is ready`)
  return [ready, checkClock(found.skewMs)]
}

export function checkClock(skewMs: number): Finding {
  const seconds = Math.round(Math.abs(skewMs) / 1000)
  if (Math.abs(skewMs) <= maxSkewMs) return ok('clock', 'agrees with the server’s')
  if (Number.isNaN(skewMs)) return warn('clock', 'the server’s answer has no date', 'A proxy took it out; compare the clocks by hand.')
  return warn(
    'clock',
    `this machine’s clock is ${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} the server’s`,
    'Let both machines set their clocks by NTP.',
  )
}

export async function checkToken(client: AdminClient): Promise<Finding> {
  try {
    await client.call('GET', '/owners', { query: { limit: '1' } })
    return ok('admin token', 'it opens the admin API')
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error
    const mend = 'Use the token the server was started with: TURNKEEP_ADMIN_TOKEN, or admin.token in its data folder.'
    return fail('admin token', error.message.split('\n')[0]!, mend)
  }
}

/** One tiny call each; a provider may charge for it. */
export async function* checkProviders(client: AdminClient): AsyncGenerator<Finding> {
  let count = 0
  for await (const { data } of client.pages('/providers')) {
    for (const { id, name } of data) {
      count++
      const { ok: works, model, latency_ms: latencyMs, error } = await client.call('POST', `/providers/${String(id)}/test`, { body: {} })
      const check = `provider ${String(name)}`
      if (works === true)
        yield ok(check, `${typeof model === 'string' ? `${model} answers` : 'it lists its models'} in ${String(latencyMs)} ms`)
      else
        yield fail(
          check,
          String(error),
          `Try \`npx turnkeep provider test ${String(name)}\`; a new key: \`provider update ${String(name)} --api-key-stdin\`.`,
        )
    }
  }
  if (count === 0)
    yield warn('providers', 'there are none', 'Agents can only use the built-in demo model: npx turnkeep provider create --help')
}
