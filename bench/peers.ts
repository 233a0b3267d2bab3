/**
 * What a user would run instead of Turnkeep, measured beside it: a folder with `adapters/NAME.mjs`, each of which says how its server is
 * started and called. Adapters are the operator's own files and are run unchanged; their servers find their model at port 9900 of this
 * machine.
 */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { lastToken, marks } from './call.ts'
import type { Mode, Target } from './scenario.ts'
import { spawnServer } from './spawned.ts'

/** The port in the peers' own settings. */
export const peersUpstreamPort = 9900

type Asked = { path: string; headers?: Record<string, string>; body: object }
type Adapter = {
  base: string
  start: { cmd: string; args?: string[]; cwd: string; env?: Record<string, string>; ready: string }
  setup?(base: URL): Promise<void>
  sync(conversation: string, text: string): Asked
  stream(conversation: string, text: string): Asked
}

export type PeersOptions = { folder: string; names: string[] }

/** `makeFolder` creates one for its log. Throws with the peer's name if it does not exist or does not start. */
export async function startPeer(
  { folder, name }: { folder: string; name: string },
  makeFolder: () => string,
): Promise<Target & { startMs: number }> {
  const file = join(folder, 'adapters', `${name}.mjs`)
  if (!existsSync(file)) throw new Error(`no peer ${name}: there is no ${file}`)
  process.env['PEERS_DIR'] = resolve(folder)
  // What the folder's README requires of an adapter. The first call shows whether it is true.
  const { default: adapter } = (await import(pathToFileURL(resolve(file)).href)) as { default: Adapter }
  const { cmd, args = [], cwd, env = {}, ready } = adapter.start
  const spawned = await spawnServer({ command: cmd, args, cwd, env, ready, folder: makeFolder(), endsAll: true })
  await adapter.setup?.(new URL(adapter.base))
  return {
    name,
    base: adapter.base,
    pid: spawned.pid,
    startMs: spawned.startMs,
    stop: spawned.stop,
    call(mode: Mode) {
      const { path, headers = {}, body } = adapter[mode](marks.user, marks.text)
      // An adapter is called once, so the key that it has made is replaced: every turn has its own.
      const keyed = Object.fromEntries(
        Object.entries(headers).map(([header, value]) => [header, header.toLowerCase() === 'idempotency-key' ? marks.key : value]),
      )
      return { path, headers: keyed, body: JSON.stringify(body), whole: [lastToken] }
    },
  }
}
