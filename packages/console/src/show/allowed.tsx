/** Shows what the signed-in principal may not do as read-only, or not at all. The server refuses it in any case. */
import { Alert } from '@mantine/core'
import type { ReactNode } from 'react'
import { useMay } from '../api/session.ts'
import type { Permission } from '../api/types.ts'

/** `permission`: with several, one is enough. `installation`: also without a restriction to an owner. */
type AllowedProps = { permission: Permission | readonly Permission[]; installation?: true; children: ReactNode }

/** For a button: nothing without the permission. */
export function Allowed({ permission, installation, children }: AllowedProps) {
  return useMay(permission, installation) ? <>{children}</> : null
}

/** For a form: without the permission its fields cannot be changed, and a note says why. */
export function ReadOnlyUnless({ permission, installation, children }: AllowedProps) {
  const may = useMay(permission, installation)
  if (may) return <>{children}</>
  const names = [permission].flat()
  return (
    <>
      <Alert color="gray" variant="light" title="Read-only" role="note" mb="md">
        To change this, you need the permission {names.join(' or ')}
        {installation ? ' for the whole installation' : ''}. Ask an admin for another role.
      </Alert>
      <fieldset disabled className="plain-fieldset">
        {children}
      </fieldset>
    </>
  )
}
