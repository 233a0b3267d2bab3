/** Generates the tables of docs/operate/operators.md, "Who may do what", from the roles and from the permissions of the routes. */
import { routeNeeds } from '../../src/http/admin/permissions.ts'
import { extraPermissions, permissions, roles } from '../../src/operators/principal.ts'
import type { Permission, Role } from '../../src/operators/principal.ts'

const names = Object.keys(roles) as Role[]

/** From the heading of the section to the end of the page. */
export const permissionTables = (): string => `## Who may do what

This part is generated from \`src/operators/principal.ts\` and \`src/http/admin/permissions.ts\` by \`node test/docs.test.ts --update-golden\`.

| permission | allows to | ${names.join(' | ')} |
|---|---|${names.map(() => '---|').join('')}
${(Object.keys(permissions) as Permission[]).map(permissionRow).join('\n')}

\`+\`: only if the operator or token was given the permission in addition to its role.

This table shows which permissions each route of the admin API needs. A route marked *installation* concerns everyone, so an operator or a token that is
restricted to an owner or an agent gets 403 \`forbidden\` there, whatever its role.

| route | permission | |
|---|---|---|
${Object.entries(routeNeeds).map(routeRow).join('\n')}
`

function permissionRow(permission: Permission): string {
  const cells = names.map((role) => {
    if ((roles[role] as readonly Permission[]).includes(permission)) return 'yes'
    return (extraPermissions as readonly Permission[]).includes(permission) ? '+' : ''
  })
  const allowed = permissions[permission]
  return `| \`${permission}\` | ${allowed[0]!.toLowerCase()}${allowed.slice(1)} | ${cells.join(' | ')} |`
}

function routeRow([route, needs]: [string, (typeof routeNeeds)[string]]): string {
  const name = `\`${route.replaceAll(/:(\w+)/g, '{$1}')}\``
  if (needs === 'open') return `| ${name} | none: no sign-in | |`
  if (needs === 'signed-in') return `| ${name} | any sign-in | |`
  const [list, word] = 'needs' in needs ? [needs.needs, ' and '] : [needs.oneOf, ' or ']
  return `| ${name} | ${list.map((one) => `\`${one}\``).join(word)} | ${needs.installation ? 'installation' : ''} |`
}
