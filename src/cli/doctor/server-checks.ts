/** The checks of `turnkeep doctor` on the running server: port, readiness, clock, admin token, providers, webhooks. Changes nothing. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Config } from '../../config/config.ts'
import type { AdminClient, Fields } from '../admin-api/client.ts'
import { CommandFailed, causeOf } from '../terminal/command-failed.ts'
import { fail, ok, warn } from './finding.ts'
import type { Finding } from './finding.ts'
import { findPortHolder } from './port-holder.ts'

/** `ours`: a Turnkeep server answers at /readyz. `stranger`: another program answers. `silent`: nothing answers. */
export type Probe =
  | { kind: 'ours'; status: string; store: string; skewMs: number }
  | { kind: 'stranger'; status: number }
  | { kind: 'silent'; reason: string }

// A local server answers within milliseconds, a distant one within a second.
const probeTimeoutMs = 5_000
// The Date header has whole seconds, and the response takes time. A smaller difference is not clock skew.
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

/** Tries to listen on the port unless Turnkeep already answers there. */
export async function checkPort({ host, port }: Config, found: Probe): Promise<Finding> {
  if (found.kind === 'ours') return ok('port', `Turnkeep is listening on ${host}:${port}`)
  const server = createServer()
  try {
    server.listen({ port, host, exclusive: true })
    await once(server, 'listening')
    return ok('port', port === 0 ? 'the server picks any free port' : `${host}:${port} is free`)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'EADDRINUSE') {
      const holder = findPortHolder(port)
      const by = holder ? `another program: ${holder.program}, process ${holder.pid}` : 'another program'
      return fail('port', `${host}:${port} is in use by ${by}`, 'Set PORT to a free port, or stop that program.')
    }
    if (code === 'EACCES') return fail('port', `permission denied to listen on ${host}:${port}`, 'Set PORT to 1024 or higher.')
    return fail('port', `cannot listen on ${host}:${port}: ${causeOf(error)}`, 'Set TURNKEEP_HOST to an address of this machine.')
  } finally {
    server.close()
  }
}

/** `expected`: an option, a setting or the lock of the data folder says that a server is running. */
export function checkServer(url: string, found: Probe, expected: boolean): Finding[] {
  if (found.kind === 'silent') {
    const says = `cannot reach ${url}: ${found.reason}`
    return [
      expected
        ? fail('server', says, 'It may still be starting, or listen on another address. Check PORT, TURNKEEP_HOST and its log.')
        : warn('server', says, 'Start it: npx --no-install turnkeep serve'),
    ]
  }
  if (found.kind === 'stranger')
    return [
      fail(
        'server',
        `${url} answers ${found.status}, but is not a Turnkeep server`,
        'Another program or a proxy answers there. Check the address and the routes of the proxy.',
      ),
    ]
  const ready =
    found.status !== 'ready'
      ? warn('server', `${url} is ${found.status}`, 'It is shutting down. Wait until it has stopped, then start it again.')
      : found.store !== 'ok'
        ? fail(
            'server',
            `${url} answers, but its database is ${found.store}`,
            'Check the log of the server. A common cause is a full disk.',
          )
        : ok('server', `${url} is ready`)
  return [ready, checkClock(found.skewMs)]
}

export function checkClock(skewMs: number): Finding {
  const seconds = Math.round(Math.abs(skewMs) / 1000)
  if (Math.abs(skewMs) <= maxSkewMs) return ok('clock', 'in sync with the server')
  if (Number.isNaN(skewMs)) return warn('clock', 'the response has no Date header', 'A proxy may remove it. Compare the clocks manually.')
  return warn(
    'clock',
    `the clock of this machine is ${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} the server`,
    'Use NTP on both machines.',
  )
}

export async function checkToken(client: AdminClient): Promise<Finding> {
  try {
    await client.call('GET', '/owners', { query: { limit: '1' } })
    return ok('admin token', 'accepted by the admin API')
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error
    const fix = 'Use the token of the server: TURNKEEP_ADMIN_TOKEN, or the file admin.token in its data folder.'
    return fail('admin token', error.message.split('\n')[0]!, fix)
  }
}

/** Looks for webhooks that the service has disabled, and for deliveries that have failed. Sends nothing. */
export async function* checkWebhooks(client: AdminClient): AsyncGenerator<Finding> {
  for await (const { data } of client.pages('/webhooks')) {
    for (const { id, url, enabled, disabled_reason: reason } of data) {
      const check = `webhook ${String(url)}`
      const test = `To test it: npx --no-install turnkeep webhook test ${String(id)}.`
      const failed = await client.call('GET', `/webhooks/${String(id)}/deliveries`, { query: { status: 'failed', limit: '1' } })
      const [last] = Array.isArray(failed['data']) ? (failed['data'] as Fields[]) : []
      if (typeof reason === 'string')
        yield fail(
          check,
          `disabled: ${reason}`,
          `${test} To enable it again: npx --no-install turnkeep webhook update ${String(id)} --enabled.`,
        )
      else if (last)
        yield warn(
          check,
          `deliveries have failed in the last 30 days, the newest because ${String(last['last_error'])}`,
          `${test} To list them: npx --no-install turnkeep webhook deliveries ${String(id)} --status failed.`,
        )
      else yield ok(check, enabled === true ? 'no delivery has failed' : 'disabled by the operator')
    }
  }
}

/** Makes one small call to each provider, for which the provider may charge. */
export async function* checkProviders(client: AdminClient): AsyncGenerator<Finding> {
  let count = 0
  for await (const { data } of client.pages('/providers')) {
    for (const { id, name } of data) {
      count++
      const { ok: works, model, latency_ms: latencyMs, error } = await client.call('POST', `/providers/${String(id)}/test`, { body: {} })
      const check = `provider ${String(name)}`
      if (works === true)
        yield ok(check, `${typeof model === 'string' ? `${model} responds` : 'lists its models'} in ${String(latencyMs)} ms`)
      else
        yield fail(
          check,
          String(error),
          `Run \`npx --no-install turnkeep provider test ${String(name)}\`. To replace the key: \`npx --no-install turnkeep provider update ${String(name)} --api-key-stdin\`.`,
        )
    }
  }
  if (count === 0)
    yield warn(
      'providers',
      'no providers',
      'Agents can only use the built-in demo model. To add one: npx --no-install turnkeep provider create --help',
    )
}
