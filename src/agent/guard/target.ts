/**
 * `tools.guard`: from the text of an address to the addresses that may be connected to. Every answer of the look-up is checked, and what
 * is connected to later are these answers: nothing looks the name up again. Throws GuardRefused and GuardFailed.
 */
import { lookup, Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { isPublic, isPublicName } from './address.ts'
import { GuardRefused, lookupFailure } from './refusal.ts'

export type Target = {
  url: URL
  /** In lower case, without brackets and without a dot at its end. */
  host: string
  port: number
  /** On the operator's list: may be private, and http. */
  permitted: boolean
}

export type Address = { address: string; family: number }

// What servers and proxies commonly take of a request line.
const maxUrl = 16_384
// A public name is answered in well under a second; a lost packet is asked for once more.
const lookupMs = 2000
const lookupTries = 2

/** The host and port of each pair, `host:port` or `[address]:port`, in the form `readTarget` compares. */
export function permittedPairs(pairs: string[]): Set<string> {
  return new Set(
    pairs.map((pair) => {
      const url = URL.parse(`http://${pair}`)
      if (!url) throw new Error(`${pair} is not a pair of host and port`)
      return `${bareHost(url)}:${pair.slice(pair.lastIndexOf(':') + 1)}`
    }),
  )
}

/** Reads an address as browsers do, so that every spelling of an IP address (decimal, octal, hex, short) has become its plain one. */
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

/** The pairs that a request and its redirects may use: none where it begins at a public address, whose server must not lead to a private one. */
export function reachableFrom(text: string, permitted: Set<string>): Set<string> {
  return readTarget(text, permitted).permitted ? permitted : new Set()
}

/** Looks the host up once. Public names are asked of the name servers alone; a permitted one is whatever the machine says it is. */
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

/** By a resolver of its own: the system's look-up would hold one of the few threads of the process for as long as a name server is silent. */
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

/** As the settings name it. */
const pairOf = ({ host, port }: Pick<Target, 'host' | 'port'>): string => `${isIP(host) === 6 ? `[${host}]` : host.slice(0, 255)}:${port}`

const bareHost = (url: URL): string =>
  url.hostname
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '')
