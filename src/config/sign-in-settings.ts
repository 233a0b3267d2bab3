/** The settings of the sign-in at the console: its address, and the company's identity provider (docs/operate/sign-in.md). */
import { roles } from '../operators/principal.ts'
import type { Role } from '../operators/principal.ts'
import { BadValue, baseUrl, host, visibleAscii } from './config-values.ts'
import type { Setting } from './setting.ts'

export const signInSettings = {
  consoleUrl: {
    name: 'TURNKEEP_CONSOLE_URL',
    meaning:
      'Base URL at which browsers reach the console, for links, passkeys and the company account; if not set, TURNKEEP_PUBLIC_URL without TURNKEEP_ADMIN_PORT, and otherwise the address of the request.',
    accepted: 'an http or https URL without a query or a fragment',
    read: baseUrl,
  },
  oidcIssuer: {
    name: 'TURNKEEP_OIDC_ISSUER',
    meaning: 'Issuer URL of the identity provider (OpenID Connect) that operators sign in with.',
    accepted: 'an https URL without a query or a fragment, or an http URL of this machine',
    read: issuerUrl,
  },
  oidcClientId: {
    name: 'TURNKEEP_OIDC_CLIENT_ID',
    meaning: 'Client ID that the identity provider has given to Turnkeep.',
    accepted: 'visible ASCII characters',
    read: visibleAscii,
  },
  oidcClientSecret: {
    name: 'TURNKEEP_OIDC_CLIENT_SECRET',
    meaning: 'Client secret for TURNKEEP_OIDC_CLIENT_ID; if not set, Turnkeep is a public client.',
    accepted: 'visible ASCII characters',
    read: visibleAscii,
    secret: true,
  },
  oidcName: {
    name: 'TURNKEEP_OIDC_NAME',
    initial: 'company account',
    meaning: 'What operators call the identity provider, on the button "Sign in with …".',
    accepted: 'up to 60 characters',
    read: (text) => ([...text].length <= 60 && !/\p{C}/u.test(text) ? text : undefined),
  },
  oidcDomains: {
    name: 'TURNKEEP_OIDC_DOMAINS',
    initial: '',
    meaning: 'Domains of the email addresses that may sign in with the identity provider; if not set, all.',
    accepted: 'a comma-separated list of domains such as acme.example',
    read: domains,
  },
  oidcRoleClaim: {
    name: 'TURNKEEP_OIDC_ROLE_CLAIM',
    meaning: 'Claim of the identity provider that decides the role, such as groups; if not set, roles are given in the console.',
    accepted: 'the name of a claim',
    read: visibleAscii,
  },
  oidcRoles: {
    name: 'TURNKEEP_OIDC_ROLES',
    meaning: 'Role for each value of the claim; of several, the first in the order admin, editor, billing, viewer.',
    accepted: 'a comma-separated list such as admin=turnkeep-admins,viewer=staff',
    read: roleValues,
  },
} as const satisfies Record<string, Setting<unknown>>

type Key = keyof typeof signInSettings

/** Which settings are missing beside those that are set, one line each. */
export function incompleteSignIn(values: Partial<Record<Key, unknown>>): string[] {
  const isSet = (key: Key): boolean => {
    const value = values[key]
    return value !== undefined && !(Array.isArray(value) && value.length === 0)
  }
  const needs = (key: Key, other: Key): string[] =>
    isSet(key) && !isSet(other) ? [`${signInSettings[key].name}: requires ${signInSettings[other].name}`] : []
  return [
    ...needs('oidcIssuer', 'oidcClientId'),
    ...(['oidcClientId', 'oidcClientSecret', 'oidcDomains', 'oidcRoleClaim'] as const).flatMap((key) => needs(key, 'oidcIssuer')),
    ...needs('oidcRoleClaim', 'oidcRoles'),
    ...needs('oidcRoles', 'oidcRoleClaim'),
  ]
}

type Config = { [K in 'oidcIssuer' | 'oidcClientId' | 'oidcClientSecret' | 'oidcRoleClaim']: string | undefined } & {
  oidcName: string
  oidcDomains: string[]
  oidcRoles: [role: Role, value: string][] | undefined
}

/** The identity provider of the settings, without its redirect URI. Undefined without one. */
export function identityProvider({ oidcIssuer, oidcClientId, oidcClientSecret, oidcName, oidcDomains, oidcRoleClaim, oidcRoles }: Config) {
  if (oidcIssuer === undefined || oidcClientId === undefined) return undefined
  const fromClaims = oidcRoleClaim !== undefined && oidcRoles ? { claim: oidcRoleClaim, values: oidcRoles } : null
  return {
    issuer: oidcIssuer,
    clientId: oidcClientId,
    clientSecret: oidcClientSecret,
    name: oidcName,
    domains: oidcDomains,
    roles: fromClaims,
  }
}

/** The text itself: it must be exactly the issuer that the provider names. */
function issuerUrl(text: string): string | undefined {
  if (baseUrl(text) === undefined) return undefined
  const { protocol, hostname, host: hostAndPort, pathname } = new URL(text)
  if (protocol === 'http:' && !['localhost', '127.0.0.1', '[::1]'].includes(hostname)) return undefined
  if (hostAndPort === 'login.microsoftonline.com' && /^\/(common|organizations|consumers)\b/.test(pathname))
    throw new BadValue('must be the issuer of your own tenant: https://login.microsoftonline.com/TENANT_ID/v2.0')
  return text
}

function domains(text: string): string[] | undefined {
  const names = text.split(',').flatMap((name) => (name.trim() === '' ? [] : [name.trim().toLowerCase()]))
  return names.every((name) => host(name) !== undefined && name.includes('.')) ? names : undefined
}

function roleValues(text: string): [role: Role, value: string][] | undefined {
  const names = Object.keys(roles) as Role[]
  const pairs = text.split(',').map((pair) => {
    const at = pair.indexOf('=')
    return { role: pair.slice(0, at).trim(), value: pair.slice(at + 1).trim() }
  })
  if (!pairs.every(({ role, value }) => names.some((name) => name === role) && value !== '')) return undefined
  return names.flatMap((name) => pairs.flatMap(({ role, value }): [Role, string][] => (role === name ? [[name, value]] : [])))
}
