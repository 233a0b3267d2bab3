/** The name of the person who runs a command. */
import { userInfo } from 'node:os'

/** Returns `otherwise` if the system has no name for this user, as in some containers. */
export function loginName(otherwise: string): string {
  try {
    return userInfo().username
  } catch {
    return otherwise
  }
}
