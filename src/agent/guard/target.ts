/**
 * `tools.guard`: turns a URL into the addresses that may be connected to. All addresses that DNS returns are checked, and exactly these are
 * used for the connection, so that the name is not resolved again. Throws GuardRefused and GuardFailed.
 */
import { lookup, Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { isPublic, isPublicName } from './address.ts'
import { GuardRefused, lookupFailure } from './refusal.ts'

export type Target = {
  url: URL
  /** In lower case, without brackets and without a trailing dot. */
  host: string
  port: number
  /** On the operator's list: the address may be private and use http. */
  permitted: boolean
}

export type Address = { address: string; family: number }

// The length of request line that servers and proxies usually accept.
const maxUrl = 16_384
// Milliseconds. A public name usually resolves in well under a second; after a lost packet, one more try is made.
const lookupMs = 2000
const lookupTries = 2

/** Parses the pairs `host:port` or `[address]:port` into the form that `readTarget` compares. Throws an Error if a pair is invalid. */
export function permittedPairs(pairs: string[]): Set<string> {
  return new Set(
    pairs.map((pair) => {
      const url = URL.parse(`http://${pair}`)
      if (!url) throw new Error(`${pair} is not a pair of host and port`)
      return `${bareHost(url)}:${pair.slice(pair.lastIndexOf(':') + 1)}`
    }),
  )
}

/** Parses a URL as browsers do, which converts every notation of an IP address (decimal, octal, hex, short) to the usual one. */
export function readTarget(text: string, permitted: Set<string>): Target {
  if (text.length > maxUrl) throw new GuardRefused(`the address is longer than ${maxUrl} characters`)
  const url = URL.parse(text)
  if (!url) throw new GuardRefused('the address is not a valid URL')
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw new GuardRefused('the address must start with https://')
  if (url.username !== '' || url.password !== '') throw new GuardRefused('the address must not contain a user name or password')
  const host = bareHost(url)
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
  const target = { url, host, port, permitted: permitted.has(`${host}:${port}`) }
  if (target.permitted) return target
  if (url.protocol === 'http:') throw new GuardRefused('the address must start with https://', pairOf(target))
  if (!(isIP(host) ? isPublic(host) : isPublicName(host))) throw notAllowed(target)
  return target
}

/**
 * Returns the pairs that a request and its redirects may use. None if the URL is public, because its server must not redirect to a private
 * host.
 */
export function reachableFrom(text: string, permitted: Set<string>): Set<string> {
  return readTarget(text, permitted).permitted ? permitted : new Set()
}

/**
 * Resolves the host once. Public names are resolved by the name servers only; permitted ones by the system, which also reads its hosts
 * file.
 */
export async function resolveTarget(target: Target, servers: string[] | undefined, signal: AbortSignal): Promise<Address[]> {
  const { host, permitted } = target
  const family = isIP(host)
  if (family !== 0) return [{ address: host, family }]
  try {
    const addresses = await (permitted ? lookup(host, { all: true }) : askServers(host, servers, signal))
    if (!permitted && addresses.some(({ address }) => !isPublic(address))) throw notAllowed(target)
    return addresses
  } catch (error) {
    throw lookupFailure(error)
  }
}

/**
 * Uses its own resolver, because the system's would block one of the process's few threads for as long as a name server does not answer.
 */
async function askServers(host: string, servers: string[] | undefined, signal: AbortSignal): Promise<Address[]> {
  const resolver = new Resolver({ timeout: lookupMs, tries: lookupTries })
  if (servers) resolver.setServers(servers)
  const cancel = (): void => resolver.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    const addresses = [...found(four, 4), ...found(six, 6)]
    if (addresses.length === 0 && four.status === 'rejected') throw four.reason
    return addresses
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

function found(answer: PromiseSettledResult<string[]>, family: number): Address[] {
  return answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family })) : []
}

export function notAllowed(target: Pick<Target, 'host' | 'port'>): GuardRefused {
  const words = `the address ${target.host.slice(0, 255)} is not public, and its host and port are not on the list of allowed private hosts`
  return new GuardRefused(words, pairOf(target))
}

/** Formats a pair as in the settings. */
const pairOf = ({ host, port }: Pick<Target, 'host' | 'port'>): string => `${isIP(host) === 6 ? `[${host}]` : host.slice(0, 255)}:${port}`

const bareHost = (url: URL): string =>
  url.hostname
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
