/**
 * What of undici every turn needs: the connections of models, to `dispatch` on. The whole package has `fetch`, caches, cookies and web sockets
 * besides, which took 15 MB of a server that uses none of them, and gives `request` and the like to a dispatcher; whoever needs more imports the
 * package when it is called. Parts and package are the same objects, of one version, which package.json pins.
 */
import { createRequire } from 'node:module'
import type * as Undici from 'undici'

const part = createRequire(import.meta.url)
export const Agent = part('undici/lib/dispatcher/agent.js') as typeof Undici.Agent
export const errors = part('undici/lib/core/errors.js') as typeof Undici.errors
