/** What operators and admin tokens have in common on the command line: a role, an additional permission and a restriction. */
import { Option } from 'commander'
import type { Command } from 'commander'
import { extraPermissions, roles } from '../../operators/principal.ts'
import type { AdminClient } from '../admin-api/client.ts'
import { findId } from '../admin-api/names.ts'
import { given } from '../terminal/command-options.ts'

export type Access = { role?: string; permission?: string[]; owner?: string }

/** @param rolePresence whether the role must be given */
export function withAccess(command: Command, rolePresence: 'required' | 'optional'): Command {
  return command
    .addOption(new Option('--role <role>', 'Role').choices(Object.keys(roles)).makeOptionMandatory(rolePresence === 'required'))
    .addOption(
      new Option('--permission [permission...]', 'Permissions beyond the role (without a value: none)').choices([...extraPermissions]),
    )
    .option('--owner <owner>', 'Only what belongs to this owner, by ID or name')
}

export async function writeAccess(client: AdminClient, { role, permission, owner }: Access): Promise<Record<string, unknown>> {
  // An option without its optional value is `true`.
  const permissions = permission && (Array.isArray(permission) ? permission : [])
  return given({ role, permissions, owner_id: owner === undefined ? undefined : await findId(client, 'owner', owner) })
}
