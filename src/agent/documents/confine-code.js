/**
 * Loaded in the reading process before anything else, and again in its thread: takes away what JavaScript could use to reach other programs
 * and Node's permission model does not cover in every version: connections, name lookups and signals. This holds on every platform. It does
 * not hold code that breaks out of JavaScript; src/process/confinement.ts does, where the platform can. Not TypeScript, which would have to
 * be translated twice before each first document.
 */
import * as module from 'node:module'

const deniedModules = /^(?:node:)?(?:_?(?:http|https|http2|net|tls|dgram|dns|inspector|cluster|repl)|_(?:http|tls)_.+)(?:\/.*)?$/

/** @param {string} what */
function refusal(what) {
  return Object.assign(new Error(`The process that reads documents may not use ${what}`), { code: 'ERR_ACCESS_DENIED' })
}

/** @param {string} what */
function deny(what) {
  return () => {
    throw refusal(what)
  }
}

module.registerHooks({
  resolve(specifier, context, next) {
    if (deniedModules.test(specifier)) throw refusal(specifier)
    return next(specifier, context)
  },
})

const builtin = process.getBuiltinModule.bind(process)
const load = Reflect.get(module.Module, '_load')
const sendSignal = Reflect.get(process, '_kill').bind(process)
const own = process.pid
const sigkill = 9

/** The process may end itself. */
function killItself(pid, signal) {
  if (pid !== own || signal !== 'SIGKILL') throw refusal('signals')
  sendSignal(own, sigkill)
  return true
}

/** @type {[object, Record<string, unknown>][]} */
const replacements = [
  [
    process,
    {
      getBuiltinModule: (name) => (deniedModules.test(name) ? deny(name)() : builtin(name)),
      kill: killItself,
      _kill: deny('signals'),
      _debugProcess: deny('signals'),
      binding: deny('bindings'),
      _linkedBinding: deny('bindings'),
    },
  ],
  // Node's loader for `require`.
  [
    module.Module,
    {
      _load(request, ...rest) {
        if (deniedModules.test(request)) throw refusal(request)
        return load.call(this, request, ...rest)
      },
    },
  ],
  // WebSocket is turned off by an option of the process.
  [globalThis, { fetch: deny('fetch') }],
]

for (const [holder, properties] of replacements)
  for (const [name, value] of Object.entries(properties))
    Object.defineProperty(holder, name, { value, writable: false, configurable: false, enumerable: true })
