/** An API key in a browser is everybody's. There is no option that allows it. Specification 4.2.6. */
import { TurnkeepError } from './errors.ts'

export function refuseBrowser(world: object): void {
  if ('window' in world && 'document' in world)
    throw new TurnkeepError('This is a browser, where everybody could read the API key. Call your own server, and use the client there.')
}
