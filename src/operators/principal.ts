/**
 * Who calls the admin API, and what that principal may do: the roles and their permissions. Which permission a route needs (`operator.permission`) is
 * in src/http/admin/permissions.ts. docs/operate/operators.md, "Who may do what", is made from both.
 */
import type { Actor } from '../store/queries/audit.ts'

export const permissions = {
  read: 'Read everything except messages, the audit log and operators',
  conversations: 'Read the messages of end users, traces and feedback',
  agents: 'Create, update, test and delete agents, their tools and their knowledge, cancel turns, change feedback',
  keys: 'Create, update and revoke API keys',
  providers: 'Rename and test providers',
  provider_keys: 'Create and delete providers, and change their address and API key',
  billing: 'Create and update owners, add ledger entries, change spend limits',
  webhooks: 'Manage webhooks and their deliveries',
  erase: 'Erase conversations and end users',
  audit: 'Read the audit log',
  operators: 'Manage operators and tokens for programs',
  system: 'Run the check of the stored data',
} as const
export type Permission = keyof typeof permissions

export const roles = {
  admin: Object.keys(permissions) as Permission[],
  editor: ['read', 'conversations', 'agents', 'keys', 'providers', 'webhooks'],
  billing: ['read', 'billing'],
  viewer: ['read'],
} as const satisfies Record<string, readonly Permission[]>
export type Role = keyof typeof roles
export const roleNames = Object.keys(roles) as Role[]

/** What a role may be given in addition. Anything else would be a role of its own. */
export const extraPermissions = ['conversations'] as const
export type ExtraPermission = (typeof extraPermissions)[number]

/**
 * Restricts a principal to what belongs to one owner, or to one agent of it: it sees and changes nothing else (`operator.scope`). A principal
 * with an agent does not see the owner and its ledger either.
 */
export type Scope = { ownerId: string; agentId: string | null }

/** The message for a restricted principal where a request concerns everyone. */
export const ofInstallation = 'This concerns the whole installation, and you are restricted to one owner.'

/** `admin_token`: the token of the installation. `operator`: a person with a session. `token`: a program. */
export type Principal = {
  role: Role
  permissions: ReadonlySet<Permission>
  /** Null: the whole installation. */
  scope: Scope | null
} & ({ who: 'admin_token' } | { who: 'operator' | 'token'; id: string; name: string })

/** The author of the changes that a principal makes with one request (`audit`). */
export const actorOf = (principal: Principal, requestId: string): Actor =>
  principal.who === 'admin_token'
    ? { who: principal.who, requestId }
    : { who: principal.who, id: principal.id, name: principal.name, requestId }

export const permissionsOf = (role: Role, extra: readonly ExtraPermission[]): ReadonlySet<Permission> =>
  new Set<Permission>([...roles[role], ...extra])

export const adminTokenPrincipal: Principal = {
  who: 'admin_token',
  role: 'admin',
  permissions: permissionsOf('admin', []),
  scope: null,
}
