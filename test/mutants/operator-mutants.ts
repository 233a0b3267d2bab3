/** Mutants of operators and tokens for programs: which permission a route needs, and when what was allowed ends. */
import { edit } from './mutant.ts'
import type { Mutant } from './mutant.ts'

const routes = 'spec/operator-permission.test.ts'
const operators = 'spec/operators.test.ts'

export const operatorMutants: Mutant[] = [
  {
    rule: 'operator.permission',
    removes: 'the words of a provider need the permission for messages',
    edits: [edit('withCause ? writeTurn : writeWithoutCause', 'withCause ? writeWithoutCause : writeTurn')],
    caughtBy: { file: routes, title: 'operator.permission: without `conversations`, the list of turns' },
  },
  {
    rule: 'operator.permission',
    removes: 'a route without an entry stops the start',
    edits: [edit('      if (found === undefined) throw new Error(`src/http/admin/permissions.ts has no entry for ${method} ${path}`)\n')],
    caughtBy: { file: routes, title: 'operator.permission: a route without an entry stops the start of the server' },
  },
  {
    rule: 'operator.permission',
    removes: 'the permission of a route is checked',
    edits: [edit('if (route) checkNeeds(principal, route)', '')],
    caughtBy: { file: routes, title: 'operator.permission: viewer gets 403 exactly where the table says so' },
  },
  {
    rule: 'operator.permission',
    removes: 'what concerns the whole installation is refused to a restricted principal',
    edits: [edit("  if (route.installation && principal.scope !== null) throw new ApiError('forbidden', ofInstallation)\n")],
    caughtBy: { file: routes, title: 'operator.permission: admin, restricted to an owner gets 403 exactly where the table says so' },
  },
  {
    rule: 'operator.permission',
    removes: 'the key of a provider needs a permission of its own',
    edits: [edit("      if (baseUrl !== undefined || apiKey !== undefined) refuseWithout(request.principal, 'provider_keys')\n")],
    caughtBy: { file: routes, title: 'operator.permission: fields that need more than their route' },
  },
  {
    rule: 'operator.permission',
    removes: 'an operator of one customer sets no price',
    edits: [edit("  const given = price !== undefined ? 'price'", "  const given = price === null ? 'price'")],
    caughtBy: { file: routes, title: 'operator.permission: fields that need more than their route' },
  },
  {
    rule: 'operator.change',
    removes: 'a change of what an operator may do ends its sessions',
    edits: [edit('  if (isOtherAccess(present, { ...next, state })) await endSessions(sql, id)\n')],
    caughtBy: { file: 'store/sqlite.test.ts', title: 'operator.change: each change of what an operator may do ends its sessions' },
  },
  {
    rule: 'operator.change',
    removes: 'only an active operator gets a session',
    edits: [edit('    if (active === 0) return undefined\n', '', { at: 'operator.change' })],
    caughtBy: { file: 'store/sqlite.test.ts', title: 'operator.change: a sign-in during a disabling leaves no session behind' },
  },
  {
    rule: 'operator.change',
    removes: 'the last admin stays',
    edits: [edit("  if (isAdmin(operator) && !(await hasAdmin(sql, id))) return { kind: 'last_admin' }\n")],
    caughtBy: { file: 'store/sqlite.test.ts', title: 'operator.change: an admin who is restricted to an owner' },
  },
  {
    rule: 'operator.token',
    removes: 'a revoked token is wrong',
    edits: [edit('and revoked_at is null and (expires_at is null', 'and (expires_at is null')],
    caughtBy: { file: operators, title: 'operator.token: it is shown once' },
  },
  {
    rule: 'operator.token',
    removes: 'an expired token is wrong',
    edits: [
      edit('(expires_at is null or expires_at > $1)', '(expires_at is null or expires_at > $1 - 86400000)', { at: 'operator.token' }),
    ],
    caughtBy: { file: operators, title: 'operator.token: an end in the past' },
  },
  {
    rule: 'operator.admin-token',
    removes: 'switched off, the admin token is wrong',
    edits: [edit('config.adminTokenEnabled ? adminToken : undefined', 'adminToken')],
    caughtBy: { file: operators, title: 'operator.admin-token: switched off, it is wrong everywhere' },
  },
]
