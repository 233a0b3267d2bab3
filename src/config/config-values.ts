/**
 * The parsers of config.ts. Each takes the text of a setting and returns its value, or undefined if the text is not accepted. They do not
 * know names, defaults or the environment.
 */
import { isIP } from 'node:net'
import { createFailpoints, FailpointSyntaxError } from '../failpoints.ts'

/** A value that is refused for a reason that the list of accepted values does not explain. */
export class BadValue extends Error {}

function refuse(reason: string): never {
  throw new BadValue(reason)
}

export function wholeNumber(least: number, most: number): { accepted: string; read: (text: string) => number | undefined } {
  return {
    accepted: `a whole number from ${least} to ${most}`,
    read: (text) => (/^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most ? Number(text) : undefined),
  }
}

export function onOrOff(text: string): boolean | undefined {
  return text === 'on' || text === 'off' ? text === 'on' : undefined
}

export function host(text: string): string | undefined {
  return isIP(text) || isHostName(text) ? text : undefined
}

function isHostName(text: string): boolean {
  return text.length <= 253 && /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i.test(text)
}

export function baseUrl(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  const plain = (url.protocol === 'http:' || url.protocol === 'https:') && !url.search && !url.hash && !url.username && !url.password
  return plain ? `${url.origin}${url.pathname}`.replace(/\/+$/, '') : undefined
}

const databaseProtocols = ['postgres:', 'postgresql:']
const redisProtocols = ['redis:', 'rediss:', 'valkey:', 'valkeys:']

/** Without a host, the local socket is used, as PostgreSQL's own programs do. */
export function databaseAddress(text: string): string | undefined {
  // `postgresql:/foo` is not a server URL, although URL accepts it.
  const url = /^[a-z]+:\/\//i.test(text) ? serverAddress(text) : undefined
  return url && databaseProtocols.includes(url.protocol) ? text : undefined
}

/** The path is the number of a database, or empty. */
export function redisAddress(text: string): string | undefined {
  const url = serverAddress(text)
  return url && redisProtocols.includes(url.protocol) && url.hostname && /^(\/\d{0,5})?$/.test(url.pathname) ? text : undefined
}

/** A URL that is safe to show: a user name alone may be a password, and so may anything after a question mark. */
export function withoutPassword(text: string): string {
  const url = serverAddress(text)
  if (!url || ![...databaseProtocols, ...redisProtocols].includes(url.protocol)) return '(hidden)'
  return `${url.protocol}//${url.password && `${url.username}:…@`}${url.host}${url.pathname}`
}

/**
 * Returns undefined for an invalid URL, and for one that is parsed differently than intended: a raw `/`, `#` or `%` in a password, or a list
 * of hosts.
 */
function serverAddress(text: string): URL | undefined {
  if (!/^[\x21-\x7e]{1,2048}$/.test(text) || !URL.canParse(text)) return undefined
  const url = new URL(text)
  if (url.hash || url.hostname.includes(',') || `${url.pathname}${url.search}`.includes('@')) return undefined
  return [url.username, url.password, url.hostname, url.pathname].every(isPercentEncoded) ? url : undefined
}

const isPercentEncoded = (text: string): boolean => /^(?:[^%]|%[0-9a-f]{2})*$/i.test(text)

export function encryptionKeys(text: string): Buffer[] | undefined {
  const keys = text.split(',').map((key) => key.trim())
  // 43 characters and an equals sign: exactly 32 bytes in base64, with or without padding.
  return keys.every((key) => /^[A-Za-z0-9+/_-]{43}=?$/.test(key)) ? keys.map((key) => Buffer.from(key, 'base64')) : undefined
}

export function hostPorts(text: string): string[] | undefined {
  const pairs = text
    .split(',')
    .map((pair) => pair.trim().toLowerCase())
    .filter((pair) => pair !== '')
  const accepted = pairs.every((pair) => {
    const match = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(pair)
    if (!match) return false
    const [, v6, name, port] = match
    return Number(port) >= 1 && Number(port) <= 65_535 && (v6 === undefined ? isHostName(name!) : isIP(v6) === 6)
  })
  return accepted ? pairs : undefined
}

/** Nothing but its randomness protects it from guesses (`admin.guesses`), so it must not be a word that people choose. Generated tokens always pass. */
export function adminToken(text: string): string | undefined {
  if (!/^[\x21-\x7e]{16,512}$/.test(text)) return undefined
  if (new Set(text).size < 8 || /change-?me|passw[o0]rd|letmein|qwerty|12345678/i.test(text))
    return refuse('is easy to guess; set a random value, such as the output of: openssl rand -hex 32')
  return text
}

export function visibleAscii(text: string): string | undefined {
  return /^[\x21-\x7e]{1,512}$/.test(text) ? text : undefined
}

export function failpointSpec(text: string): string {
  try {
    return createFailpoints(text).spec
  } catch (error) {
    if (error instanceof FailpointSyntaxError) return refuse(printable(error.message))
    throw error
  }
}

/** Keeps a message on one line, whatever the environment contains. */
export function printable(text: string): string {
  const shown = text.replace(/\p{C}|\p{Zl}|\p{Zp}/gu, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`)
  return shown.length > 80 ? `${shown.slice(0, 80)}…` : shown
}
