/**
 * The architecture: which module may import which, through which entry files, how files are named and how long they are, and that every
 * rule of docs/rules.md is in the code and in a test. A new module or entry file needs a line here.
 */
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import { describe, test } from 'node:test'

const root = join(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

/** The modules, and whose entry files each may use; `types` are imported as types alone. */
const arrows: Record<string, { uses: string[]; types?: string[] }> = {
  // http writes amounts as decimal strings, with the two functions of ledger.ts that do it.
  http: { uses: ['access', 'turn', 'admin', 'ledger', 'mcp', 'operators', 'resources'], types: ['store', 'agent'] },
  turn: { uses: ['agent', 'ledger', 'store'] },
  access: { uses: ['store'] },
  agent: { uses: ['store', 'resources'] },
  admin: { uses: ['access', 'agent', 'ledger', 'store', 'webhooks', 'operators', 'resources'] },
  // Roles, and how a person proves who it is. It knows neither the store nor HTTP.
  operators: { uses: [], types: ['store'] },
  // The guard of every request to an address that an operator has named.
  webhooks: { uses: ['agent', 'ledger', 'store'] },
  // doctor checks where the rate windows are stored.
  cli: { uses: ['store', 'access', 'mcp', 'operators', 'resources'] },
  // An agent as an MCP server, for HTTP and for the command that serves it over stdio.
  mcp: { uses: [] },
  ledger: { uses: [] },
  // What a ledger entry does to unpaid usage is computed by ledger.ts, within the transaction.
  store: { uses: ['ledger', 'operators', 'resources'] },
  // What each resource is: plain data, from which the other modules derive their part.
  resources: { uses: ['ledger', 'operators'] },
}

/** The files that other modules may import: the one with the module's name and the types beside it. All others are internal to it. `*`: any file. */
const entryFiles: Record<string, string[]> = {
  http: ['http.ts'],
  access: [
    'access.ts',
    'redis-inspection.ts',
    'outcome.ts',
    'api-key.ts',
    'rate-window.ts',
    'redis-window.ts',
    'store-window.ts',
    'last-use.ts',
  ],
  // turn-text.ts for the event IDs, which name positions in the text; batcher.ts for the turns that owners take with large bodies.
  turn: ['turn.ts', 'outcome.ts', 'turn-resource.ts', 'turn-text.ts', 'batcher.ts', 'conversations.ts', 'erasure.ts', 'overload-watch.ts'],
  // journal.ts, prompt.ts, rebuilt-prompt.ts and trace*.ts for the operator, who reads the calls and what the agent would see and saw.
  agent: [
    'agent.ts',
    'agent-config.ts',
    'documents/documents.ts',
    'models/embeddings.ts',
    'guard/guard.ts',
    'journal.ts',
    'knowledge/knowledge.ts',
    'models/model.ts',
    'models/models.ts',
    'prompt.ts',
    'rebuilt-prompt.ts',
    'tokens.ts',
    'tools/tools.ts',
    'trace.ts',
    'trace-recorder.ts',
  ],
  ledger: ['ledger.ts', 'price-calculation.ts'],
  admin: ['admin.ts', 'sign-in/sign-in.ts', 'verification.ts'],
  operators: ['principal.ts', 'email.ts', 'passwords.ts', 'passkeys.ts', 'oidc.ts', 'signed-tokens.ts'],
  webhooks: ['webhooks.ts'],
  cli: ['turnkeep.ts'],
  resources: ['*'],
  mcp: ['agent-server.ts', 'agent-tool.ts', 'without-nulls.ts'],
  // The port, its records and its budget, the backends that app.ts opens, the commands' operations on a whole store, and the types and pages of the admin queries.
  store: [
    'store.ts',
    'methods.ts',
    'turn-records.ts',
    'budget.ts',
    'sql.ts',
    'schema-refused.ts',
    'sqlite/sqlite.ts',
    'postgres/postgres.ts',
    'postgres/backup.ts',
    'postgres/copy/mark.ts',
    'copy.ts',
    'queries/*',
  ],
}

/**
 * The files outside of all modules, and who may import them; `modules` is every module. app.ts, main.ts, open-stores.ts and first-start.ts
 * know the modules.
 */
const outside: Record<string, string[]> = {
  'errors.ts': ['modules', 'app.ts', 'observability/metrics.ts', 'process/worker-link.ts'],
  'cause-kinds.ts': ['modules', 'observability/metrics.ts'],
  'finish-reason.ts': ['modules', 'observability/metrics.ts'],
  'spend-limits.ts': ['modules'],
  'agent-slug.ts': ['modules', 'main.ts'],
  'code-points.ts': ['modules'],
  'event-types.ts': ['modules'],
  'provider-kinds.ts': ['modules', 'config/provider-address.ts'],
  'document-warnings.ts': ['modules'],
  'deadline.ts': ['modules', 'app.ts', 'process/shared-page.ts', 'process/worker-link.ts'],
  'observability/throttle.ts': ['modules'],
  'flush-folder.ts': ['store', 'config/data-folder.ts'],
  'failpoints.ts': ['modules', 'app.ts', 'process/open-stores.ts', 'main.ts', 'config/config.ts', 'config/config-values.ts'],
  'observability/metrics.ts': ['modules', 'app.ts', 'observability/status.ts', 'process/shared-page.ts', 'process/worker-link.ts'],
  'observability/prom-client.ts': ['observability/metrics.ts', 'observability/turn-series.ts', 'observability/webhook-series.ts'],
  'observability/turn-series.ts': ['observability/metrics.ts'],
  'observability/webhook-series.ts': ['observability/metrics.ts'],
  'process/confinement.ts': ['agent', 'cli'],
  'process/idle-memory.ts': ['main.ts'],
  'process/shared-page.ts': ['process/workers.ts'],
  'process/worker-link.ts': ['main.ts', 'process/workers.ts'],
  'process/workers.ts': ['main.ts'],
  'ids.ts': ['turn', 'admin', 'app.ts'],
  'config/secrets.ts': ['agent', 'admin', 'webhooks', 'cli', 'app.ts', 'config/data-folder.ts', 'process/secrets-check.ts'],
  // The commands decide with it whether a changed provider needs its key again.
  'config/provider-address.ts': ['agent', 'admin', 'cli'],
  'config/config.ts': ['cli', 'main.ts', 'app.ts', 'observability/status.ts', 'process/open-stores.ts', 'config/own-secrets.ts'],
  'config/setting.ts': ['cli', 'config/config.ts', 'config/sign-in-settings.ts', 'config/own-secrets.ts'],
  'config/sign-in-settings.ts': ['app.ts', 'config/config.ts'],
  'config/own-secrets.ts': ['cli'],
  'config/nearest-word.ts': ['cli', 'admin', 'config/config.ts'],
  'config/config-values.ts': ['config/config.ts', 'config/sign-in-settings.ts', 'config/data-folder.ts'],
  'config/data-folder.ts': ['main.ts', 'process/first-start.ts'],
  'observability/log.ts': ['main.ts'],
  'observability/loggable-error.ts': ['observability/log.ts'],
  'process/first-start.ts': ['main.ts'],
  'process/secrets-check.ts': ['main.ts'],
  'process/start-lines.ts': ['main.ts', 'process/worker-link.ts'],
  'observability/status.ts': ['http', 'app.ts'],
  'process/open-stores.ts': ['main.ts', 'app.ts'],
  'app.ts': ['main.ts'],
  'main.ts': ['cli'],
  // The client's reader of streams and its header of a key, which the commands share with it.
  '../packages/client/src/event-reader.ts': ['cli'],
  '../packages/client/src/options.ts': ['cli'],
  '../packages/client/src/reconcile.ts': ['cli'],
  '../packages/client/src/retries.ts': ['cli'],
  '../packages/client/src/wire.ts': ['cli'],
}
// The settings name the roles.
const knowsModules = [
  'app.ts',
  'main.ts',
  'process/first-start.ts',
  'process/open-stores.ts',
  'process/secrets-check.ts',
  'config/sign-in-settings.ts',
]

type Import = { from: string; to: string; typeOnly: boolean }

const sources = globSync('src/**/*.ts', { cwd: root }).map((file) => file.slice('src/'.length))
const imports = sources.flatMap(importsOf)
/** The module of a file below src/, or the file itself if it is outside of all modules. */
const isModule = (name: string): boolean => Object.hasOwn(arrows, name)
const moduleOf = (file: string): string => (isModule(file.split('/')[0]!) ? file.split('/')[0]! : file)

function importsOf(from: string): Import[] {
  const code = read(`src/${from}`)
  const statements = [...code.matchAll(/^(?:import|export)\s+(type\s)?(?:[^'"]*?\sfrom\s+)?'(\.[^']+)'/gm)]
  const dynamic = [...code.matchAll(/(?:\bimport\(|new URL\()()'(\.[^']+\.ts)'/g)]
  return [...statements, ...dynamic].map(([, type, path]) => ({ from, to: normalize(join(dirname(from), path!)), typeOnly: Boolean(type) }))
}

function mayCross({ from, to, typeOnly }: Import): boolean {
  const [module, other] = [moduleOf(from), moduleOf(to)]
  if (!isModule(other)) return outside[other]?.some((name) => name === module || (name === 'modules' && isModule(module))) ?? false
  if (!isModule(module)) return knowsModules.includes(module) || typeOnly
  const arrow = arrows[module]!
  return arrow.uses.includes(other) || (typeOnly && (arrow.types?.includes(other) ?? false))
}

function isEntryFile(file: string): boolean {
  const inside = file.slice(moduleOf(file).length + 1)
  return entryFiles[moduleOf(file)]!.some(
    (entryFile) => entryFile === inside || (entryFile.endsWith('*') && inside.startsWith(entryFile.slice(0, -1))),
  )
}

const show = ({ from, to }: Import): string => `${from} → ${to}`

describe('layout', () => {
  test('the parser finds every import', () => {
    assert.ok(imports.length > sources.length)
    const missing = imports.filter(({ to }) => !existsSync(join(root, 'src', to)))
    assert.deepEqual(missing.map(show), [])
  })

  test('every folder below src is a known module, and every file outside is listed', () => {
    const names = new Set(sources.map(moduleOf))
    assert.deepEqual([...names].filter((name) => !isModule(name) && !Object.hasOwn(outside, name)).toSorted(), [])
  })

  test('modules import only what they may', () => {
    const crossing = imports.filter(({ from, to }) => moduleOf(from) !== moduleOf(to))
    assert.deepEqual(crossing.filter((one) => !mayCross(one)).map(show), [])
  })

  test("other modules import only a module's entry files", () => {
    const entering = imports.filter(({ from, to }) => moduleOf(from) !== moduleOf(to) && isModule(moduleOf(to)))
    assert.deepEqual(entering.filter(({ to }) => !isEntryFile(to)).map(show), [])
  })

  test('every entry file is imported by another module', () => {
    const unused = Object.entries(entryFiles).flatMap(([module, files]) =>
      files.filter(
        (file) =>
          !file.endsWith('*') &&
          module !== 'cli' &&
          !imports.some(({ from, to }) => moduleOf(from) !== module && to === `${module}/${file}`),
      ),
    )
    assert.deepEqual(unused, [])
  })

  test('files are named in kebab-case after what they hold: no index, utils, helpers, common, manager, service, base', () => {
    // Files in test/data are named as an external sender would name them, and character maps as PDF files name them.
    const files = globSync(['src/**/*', 'dev/**/*', 'test/**/*', 'bin/*', 'packages/*/src/**/*'], {
      cwd: root,
      exclude: ['test/data/**', 'src/agent/documents/character-maps/*'],
    }).map((file) => basename(file))
    const vague = /^(index|utils?|helpers?|common|manager|services?|base)$/
    const wrong = files.filter(
      (name) => !/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z]+)*$/.test(name) || vague.test(name.split('.')[0]!.split('-').at(-1)!),
    )
    assert.deepEqual(wrong, [])
  })

  test('no source file is longer than 300 lines', () => {
    const long = sources.map((file) => ({ file, lines: read(`src/${file}`).split('\n').length - 1 })).filter(({ lines }) => lines > 300)
    assert.deepEqual(long, [])
  })

  test('every source file starts with a comment about its responsibility', () => {
    assert.deepEqual(
      sources.filter((file) => !read(`src/${file}`).startsWith('/**')),
      [],
    )
  })

  test('every validation error is made by `invalid`, which asks for the field that it is about', () => {
    const makers = sources.filter((file) => /new ApiError\(\s*'validation_error'/.test(read(`src/${file}`)))
    assert.deepEqual(makers, ['errors.ts'])
  })

  test('no function of the HTTP layer returns `object`: a response has the type of its schema, which the compiler compares', () => {
    const untyped = /(?:\)|=>)\s*:?\s*(?:Promise<)?object\b(?!\()|type-provider-typebox/
    const found = sources.filter((file) => file.startsWith('http/') && untyped.test(withoutComments(read(`src/${file}`))))
    assert.deepEqual(found, [])
  })

  test('only the process and the commands read the environment', () => {
    const readers = sources.filter((file) => /\bprocess\.env\b/.test(read(`src/${file}`)))
    // store-thread.ts passes it to its threads, unread; samples.ts has it in code for callers to copy.
    assert.deepEqual(readers.toSorted(), [
      'cli/turnkeep.ts',
      'http/docs/sample-literals.ts',
      'http/docs/samples.ts',
      'http/docs/turn-samples.ts',
      'main.ts',
      'store/sqlite/store-thread.ts',
    ])
  })
})

describe('layout of the commands', () => {
  test('only turnkeep.ts uses the process: its streams, exit code, signals, folder and console', () => {
    const files = globSync('src/cli/**/*.ts', { cwd: root, exclude: ['src/cli/turnkeep.ts'] })
    // The platform and the version of Node are the same for every run.
    const used = /\bprocess\.(?!platform\b|versions\b)|= process\b|\bconsole\.|node:process/
    assert.deepEqual(
      files.filter((file) => used.test(withoutComments(read(file)))),
      [],
    )
  })
})

describe('layout of the development tools', () => {
  const files = globSync('dev/**/*.ts', { cwd: root })

  test('every file has a head comment, and none is longer than 300 lines', () => {
    assert.ok(files.length > 10)
    assert.deepEqual(
      files.filter((file) => !read(file).startsWith('/**') || read(file).split('\n').length - 1 > 300),
      [],
    )
  })

  test('no source file imports them', () => {
    assert.deepEqual(imports.filter(({ to }) => to.startsWith('..') && !Object.hasOwn(outside, to)).map(show), [])
  })
})

describe('layout of the console', () => {
  const files = globSync('packages/console/src/**/*.{ts,tsx}', { cwd: root }).toSorted()

  test('every file has a head comment, and none is longer than 300 lines', () => {
    assert.ok(files.length > 20)
    assert.deepEqual(
      files.filter((file) => !read(file).startsWith('/**') || read(file).split('\n').length - 1 > 300),
      [],
    )
  })

  test('it imports the types of src/http/contract.ts, the declared settings of an agent, the roles, the reader of events of the client, and nothing else', () => {
    const outward = files.flatMap((file) =>
      [...read(file).matchAll(/^(?:import|export)\s.*'(\..*)'/gm)]
        .filter(([, path]) => !normalize(join(dirname(file), path!)).startsWith('packages/console/src/'))
        .map(([line]) => `${file}: ${line}`),
    )
    assert.deepEqual(outward, [
      "packages/console/src/api/agent-settings.ts: import { agentFields } from '../../../../src/resources/agent.ts'",
      "packages/console/src/api/agent-settings.ts: import { nameOf } from '../../../../src/resources/field.ts'",
      "packages/console/src/api/agent-settings.ts: import type { Field } from '../../../../src/resources/field.ts'",
      "packages/console/src/api/roles.ts: export { permissions, roles } from '../../../../src/operators/principal.ts'",
      "packages/console/src/api/stream.ts: import { EventReader } from '../../../client/src/event-reader.ts'",
      "packages/console/src/api/types.ts: export type * from '../../../../src/http/contract.ts'",
    ])
  })

  test('it reads `param` of an error, and no words of its message', () => {
    const reads = /\.(?:test|exec)\((?:\w+\.)*message\)|\bmessage\.(?:startsWith|includes|match|search)\(['"`/]/
    assert.deepEqual(
      files.filter((file) => reads.test(read(file))),
      [],
    )
  })

  test('imports go one way: api, show, pages; a page imports its own folder, and pages/start and pages/agents a few others', () => {
    const placeOf = (file: string): string => file.slice('packages/console/src/'.length).split('/').slice(0, -1).slice(0, 2).join('/')
    const mayUse: Record<string, string[]> = {
      api: [],
      show: ['api'],
      'pages/start': ['api', 'show', 'pages/providers'],
      // Its tabs.
      'pages/agents': ['api', 'show', 'pages/keys', 'pages/knowledge'],
    }
    const crossing = files.flatMap((file) => {
      const place = placeOf(file)
      // app.tsx and the files beside it may import everything.
      if (place === '') return []
      const imported = [...read(file).matchAll(/(?:\bfrom |\bimport\()'(\.[^']*)'/g)].map(([, path]) =>
        normalize(join(dirname(file), path!)),
      )
      const allowed = [place, ...(mayUse[place] ?? ['api', 'show'])]
      const inside = (target: string): string => placeOf(target).replace(/^(api|show)\/.*/, '$1')
      return imported
        .filter((target) => target.startsWith('packages/console/src/'))
        .filter((target) => !allowed.some((one) => inside(target) === one || inside(target).startsWith(`${one}/`)))
        .map((target) => `${file} → ${target}`)
    })
    assert.deepEqual(crossing, [])
  })

  test('no text becomes HTML or a script, and browser storage has only display preferences', () => {
    // Mantine's own use of storage, for the color scheme, is not in these files.
    const risky =
      /dangerouslySetInnerHTML|innerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|localStorage|sessionStorage|document\.cookie/
    assert.deepEqual(
      files.filter((file) => risky.test(withoutComments(read(file)))),
      [],
    )
  })
})

describe('docs/rules.md', () => {
  const rows = [...read('docs/rules.md').matchAll(/^\| `([\w.-]+)` \|.*\| ([^|]+) \|$/gm)]
  // The mutants name rules too, but test nothing themselves.
  const tests = globSync('test/**/*.ts', { cwd: root, exclude: ['test/mutants/**'] }).map((file) => withoutComments(read(file)))

  test('has rules', () => assert.ok(rows.length >= 20, `${rows.length} rules are found`))

  for (const [, rule, places] of rows) {
    test(`${rule} is named in the code of its row and in a test`, () => {
      const files = [...places!.matchAll(/`([^`]+)`/g)].map(([, file]) => file!)
      assert.ok(files.length > 0, 'no file is named')
      const silent = files.filter((file) => !filesAt(file).some((one) => names(read(one), rule!)))
      assert.deepEqual(silent, [], 'these do not name the rule')
      assert.ok(
        tests.some((code) => names(code, rule!)),
        'no test names the rule',
      )
    })
  }
})

/** The files of a path; a bare file name means the one file with that name. */
function filesAt(path: string): string[] {
  const files = globSync(path.endsWith('/') ? `${path}**/*.ts` : path.includes('/') ? path : `src/**/${path}`, { cwd: root })
  assert.ok(files.length > 0, `${path} does not exist`)
  return files
}

/** The whole name: a rule is not found in a longer name that begins with it. */
function names(text: string, rule: string): boolean {
  return new RegExp(`(?<![\\w.-])${rule.replace('.', '\\.')}(?![\\w-])`).test(text)
}

function withoutComments(code: string): string {
  return code.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
}
