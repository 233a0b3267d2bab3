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
/** `oidc_groups`: the provider says that it left the claim of the role out, so the role is unknown. */
export type ClaimsRefused = 'oidc_email' | 'oidc_domain' | 'oidc_groups'

/** Returns why a person is refused. `claims` are those of the ID token, whose issuer and audience are verified. */
export function readClaims(claims: Claims, rules: ClaimRules): Person | ClaimsRefused {
  const { sub } = claims
  const [email = '', name] = [addressOf(claims), single(claims['name'])]
  const domain = email.slice(email.lastIndexOf('@') + 1)
  if (typeof sub !== 'string' || sub === '' || !isVerified(claims) || !/^[^\s@]+@[^\s@]+$/.test(email) || email.length > 254)
    return 'oidc_email'
  if (rules.domains.length > 0 && !(rules.domains.includes(domain) && isOfGoogleWorkspace(claims, rules))) return 'oidc_domain'
  const role = roleOf(claims, rules)
  if (role === 'left_out') return 'oidc_groups'
  const shownName = typeof name === 'string' && name.trim() !== '' ? [...name.trim()].slice(0, 200).join('') : email
  return { subject: sub, email, name: shownName.toWellFormed().replaceAll('\0', ''), role }
}

/**
 * The claims of the ID token, with those of UserInfo that it lacks. What either says about whether an address is verified counts only for its
 * own address.
 */
export function withUserInfo(idToken: Claims, userInfo: Claims): Claims {
  const [own, more] = [present(idToken), present(userInfo)]
  const both = { ...more, ...own }
  const address = addressOf(own)
  const { email, email_verified, xms_edov } =
    own['email'] === undefined ? more : address !== undefined && address === addressOf(more) ? both : own
  return { ...both, email, email_verified, xms_edov }
}

/** Whether UserInfo may say something that decides about the sign-in and that the ID token does not say. */
export const needsUserInfo = (claims: Claims, { roles }: ClaimRules): boolean => {
  const { email, email_verified, xms_edov } = present(claims)
  return (
    email === undefined || (email_verified ?? xms_edov) === undefined || (roles !== null && claimNamed(claims, roles.claim) === undefined)
  )
}

/** Null is absent. */
const present = (claims: Claims): Claims =>
  Object.fromEntries(Object.entries(claims).filter(([, value]) => (value ?? undefined) !== undefined))

/** A provider may write every claim as a list. Of several values, none is the one. */
const single = (claim: unknown): unknown => (Array.isArray(claim) && claim.length === 1 ? claim[0] : claim)

function addressOf({ email }: Claims): string | undefined {
  const given = single(email)
  return typeof given === 'string' ? normalizedEmail(given) : undefined
}

/** Amazon Cognito and other providers write booleans as text. */
const isTrue = (claim: unknown): boolean => claim === true || (typeof claim === 'string' && claim.toLowerCase() === 'true')

/**
 * Microsoft Entra says it with a claim of its own, that the tenant has verified the domain of the address. It is not used if the provider says
 * that the address itself is not verified.
 */
function isVerified({ email_verified, xms_edov }: Claims): boolean {
  const edov = single(xms_edov)
  return isTrue(single(email_verified)) || ((email_verified ?? undefined) === undefined && (isTrue(edov) || edov === 1 || edov === '1'))
}

/** A private Google account can have a verified address of a company whose mailbox the person once had. Only `hd` says that it is the company's. */
const isOfGoogleWorkspace = ({ hd }: Claims, { issuer, domains }: ClaimRules): boolean =>
  issuer !== 'https://accounts.google.com' || (typeof hd === 'string' && domains.includes(hd.toLowerCase()))

function roleOf(claims: Claims, { roles }: ClaimRules): Person['role'] | 'left_out' {
  if (roles === null) return 'unmapped'
  const found = claimNamed(claims, roles.claim)
  if (found === undefined && isLeftOut(claims, roles.claim)) return 'left_out'
  const given = [found].flat().flatMap((one): unknown[] => (isZitadelClaim(roles.claim) ? zitadelRoles(one) : [one]))
  return roles.values.find(([, value]) => given.includes(value))?.[0] ?? 'none'
}

/**
 * Entra leaves the groups of a person out who has more than fit in a token (OpenID Connect Core, 5.6.2: distributed claims). `hasgroups` says
 * the same in some of its tokens.
 */
function isLeftOut({ _claim_names: names, hasgroups }: Claims, claim: string): boolean {
  const [top] = claim.split('.')
  return (isRecord(names) && (Object.hasOwn(names, claim) || Object.hasOwn(names, top!))) || (claim === 'groups' && isTrue(hasgroups))
}

const isZitadelClaim = (claim: string): boolean => /^urn:zitadel:iam:org:project:(?:[^:]+:)?roles$/.test(claim)

/** Zitadel writes the organizations in which a person has each role: `{"admin": {"ORG_ID": "acme.example"}}`. */
const zitadelRoles = (claim: unknown): unknown[] =>
  isRecord(claim)
    ? Object.entries(claim).flatMap(([role, organizations]) =>
        isRecord(organizations) && Object.keys(organizations).length > 0 ? [role] : [],
      )
    : [claim]

const isRecord = (value: unknown): value is Claims => typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * The claim of this name, or the one at this path: Keycloak has its roles in `realm_access.roles`, and those of a client, whose ID may contain
 * dots, in `resource_access.CLIENT_ID.roles`. Undefined for null.
 */
function claimNamed(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name] ?? undefined
  for (let dot = name.lastIndexOf('.'); dot > 0; dot = name.lastIndexOf('.', dot - 1)) {
    const first = name.slice(0, dot)
    const inner = Object.hasOwn(claims, first) ? claims[first] : undefined
    if (isRecord(inner)) return claimNamed(inner, name.slice(dot + 1))
  }
  return undefined
}
