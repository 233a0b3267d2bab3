/**
 * The parts of undici that every turn needs, for the connections to models. The complete package also has `fetch`, caches, cookies and
 * WebSockets, and adds `request` and similar methods to dispatchers. Loading all of it costs a server that does not use them 15 MB of
 * memory; code that needs more imports the package when it runs. The parts and the package share the same objects, because package.json
 * pins one version.
 */
import { createRequire } from 'node:module'
import type * as Undici from 'undici'

const part = createRequire(import.meta.url)
export const Agent = part('undici/lib/dispatcher/agent.js') as typeof Undici.Agent
export const errors = part('undici/lib/core/errors.js') as typeof Undici.errors
