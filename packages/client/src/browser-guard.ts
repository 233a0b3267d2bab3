/** Refuses to run in a browser, where every visitor could read the API key. There is no option to allow it. */
import { TurnkeepError } from './errors.ts'

export function refuseBrowser(world: object): void {
  if ('window' in world && 'document' in world)
    throw new TurnkeepError('This is a browser, where everybody could read the API key. Call your own server, and use the client there.')
}
