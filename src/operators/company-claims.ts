/**
 * What the identity provider's claims say about a person: the verified email address, the name and the role (`operator.oidc`). Claims are
 * signed by the provider, but nothing in them is trusted to have a certain type.
 */
import { normalizedEmail } from './email.ts'
import type { Role } from './principal.ts'

export type Claims = Record<string, unknown>
/** Which claims admit a person. `domains` is empty if every domain is allowed. */
export type ClaimRules = {
  issuer: string
  domains: string[]
  /** Null: roles are given in the console. In the order in which they are tried. */
  roles: { claim: string; values: [role: Role, value: string][] } | null
}

/** `none`: the claims name no role. `unmapped`: roles are given in the console. */
export type Person = { subject: string; email: string; name: string; role: Role | 'none' | 'unmapped' }
export type ClaimsRefused = 'oidc_email' | 'oidc_domain'

/** Returns why a person is refused. `claims` are those of the ID token, whose issuer and audience are verified. */
export function readClaims(claims: Claims, rules: ClaimRules): Person | ClaimsRefused {
  const { sub, name } = claims
  const email = normalizedEmail(typeof claims['email'] === 'string' ? claims['email'] : '') ?? ''
  const domain = email.slice(email.lastIndexOf('@') + 1)
  if (typeof sub !== 'string' || sub === '' || !isVerified(claims) || !/^[^\s@]+@[^\s@]+$/.test(email) || email.length > 254)
    return 'oidc_email'
  if (rules.domains.length > 0 && !(rules.domains.includes(domain) && isOfGoogleWorkspace(claims, rules))) return 'oidc_domain'
  const shownName = typeof name === 'string' && name.trim() !== '' ? [...name.trim()].slice(0, 200).join('') : email
  return { subject: sub, email, name: shownName.toWellFormed().replaceAll('\0', ''), role: roleOf(claims, rules) }
}

/**
 * The claims of the ID token, with those of UserInfo that it lacks. What either says about whether an address is verified counts only for its
 * own address.
 */
export function withUserInfo(idToken: Claims, userInfo: Claims): Claims {
  const both = { ...userInfo, ...idToken }
  const { email, email_verified, xms_edov } =
    idToken['email'] === undefined ? userInfo : idToken['email'] === userInfo['email'] ? both : idToken
  return { ...both, email, email_verified, xms_edov }
}

/** Microsoft Entra says it with a claim of its own, that the tenant has verified the domain of the address. */
const isVerified = ({ email_verified, xms_edov }: Claims): boolean =>
  email_verified === true || xms_edov === true || xms_edov === 1 || xms_edov === '1'

/** A private Google account can have a verified address of a company whose mailbox the person once had. Only `hd` says that it is the company's. */
const isOfGoogleWorkspace = ({ hd }: Claims, { issuer, domains }: ClaimRules): boolean =>
  issuer !== 'https://accounts.google.com' || (typeof hd === 'string' && domains.includes(hd.toLowerCase()))

function roleOf(claims: Claims, { roles }: ClaimRules): Person['role'] {
  if (roles === null) return 'unmapped'
  const found = claimNamed(claims, roles.claim)
  const given: unknown[] = Array.isArray(found) ? found : [found]
  return roles.values.find(([, value]) => given.includes(value))?.[0] ?? 'none'
}

/** The claim of this name, or the one at this path: Keycloak has its roles in `realm_access.roles`. */
export function claimNamed(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  let value: unknown = claims
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined
    value = (value as Claims)[part]
  }
  return value
}
