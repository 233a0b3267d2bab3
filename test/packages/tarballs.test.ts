/**
 * The two packages as npm publishes them: their contents, and that a user who installs them in an empty folder has the whole service and a
 * client with types. Everything runs from the tarballs; nothing of the repository is used but its compiler.
 * docs/decisions/0028-packages.md.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { publint } from 'publint'
import { projectRoot, readManifest } from '../../release/manifest.ts'
import { packServer } from '../../release/pack.ts'
import { stageClient } from '../../release/stage-client.ts'
import { startEmbeddingServer } from '../support/embedding-server.ts'
import { makeDatabase, noPostgres } from '../support/postgres-server.ts'
import { showServer } from '../support/shown-server.ts'
import { makeProject } from './installed.ts'
import type { Project, Served } from './installed.ts'

void describe('packages', () => {
  let project: Project
  before(() => void (project = makeProject()))
  after(() => project?.remove())

  void test('the tarballs contain JavaScript, types of the client alone, and nothing else of a working copy', () => {
    const { server, client } = project
    const paths = server.files.map(({ path }) => path)
    const outside =
      /^(?:(?:bin|src|docs|deploy|packages\/(?:console\/dist|client\/src))\/|(?:package\.json|LICENSE|README\.md|CHANGELOG\.md)$)/
    const unwanted =
      /\.(?:ts|tsx|map|key|token|env|pem|db|log|tgz)$|(?:^|\/)(?:node_modules|test|bench|release|\.[^/]+)(?:\/|$)|node-(?:linux|win)-/
    assert.deepEqual(
      paths.filter((path) => !outside.test(path) || unwanted.test(path)),
      [],
    )
    for (const needed of ['LICENSE', 'README.md', 'CHANGELOG.md', 'packages/console/dist/index.html', 'docs/operate/upgrade.md'])
      assert.ok(paths.includes(needed), needed)
    assert.deepEqual(
      client.files
        .map(({ path }) => path)
        .filter((path) => !/^(?:dist\/[\w-]+(?:\.d\.ts|\.js)|src\/[\w-]+\.ts|package\.json|LICENSE|README\.md)$/.test(path)),
      [],
    )
    for (const { folder, files } of [server, client])
      for (const { path } of files) {
        const text = readFileSync(join(folder, path), 'latin1')
        for (const own of [projectRoot, `/${hostname()}`, join(tmpdir(), 'turnkeep')])
          assert.ok(!text.includes(own), `${path} holds ${own}`)
      }
  })

  void test("only the compiler's inputs and outputs of the client are packed, whatever else is beside them", () => {
    const folder = mkdtempSync(join(tmpdir(), 'turnkeep-stray-'))
    try {
      const source = join(folder, 'source')
      cpSync(join(projectRoot, 'packages/client'), source, { recursive: true, filter: (path) => !path.includes('node_modules') })
      const stray = ['src/.env', 'src/.env.ts', 'src/notes.txt', 'src/old/client.ts', 'dist/.env', 'dist/client.js.map']
      mkdirSync(join(source, 'src/old'))
      for (const path of stray) writeFileSync(join(source, path), 'API_KEY=secret')
      stageClient(join(folder, 'staged'), source)
      const staged = readdirSync(join(folder, 'staged'), { recursive: true, encoding: 'utf8' })
      assert.deepEqual(
        staged.filter((path) => stray.includes(path)),
        [],
      )
      const paths = project.client.files.map(({ path }) => path)
      assert.deepEqual(staged.filter((path) => /\./.test(path) || path === 'LICENSE').toSorted(), paths.toSorted())
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  void test('a script has the lines of its source, and every path in it leads to a file of the package', () => {
    for (const path of globSync('{bin,src}/**/*.js', { cwd: project.server.folder })) {
      const script = readFileSync(join(project.server.folder, path), 'utf8')
      const source = join(projectRoot, path.replace(/\.js$/, '.ts'))
      if (existsSync(source)) assert.equal(script.split('\n').length, readFileSync(source, 'utf8').split('\n').length, path)
      for (const [, target] of script.matchAll(/(?:from |import |import\(|URL\()'(\.[^']+\.js)'/g))
        assert.ok(existsSync(join(project.server.folder, dirname(path), target!)), `${path} names ${target}`)
    }
  })

  void test('the manifest: the pinned dependencies, Node 24 and no Node of its own', () => {
    const { dependencies, version } = readManifest(projectRoot)
    const { name, description, ...manifest } = readManifest(project.path('turnkeep'))
    assert.deepEqual(manifest.dependencies, dependencies)
    for (const pinned of Object.values(dependencies!)) assert.match(pinned, /^\d+\.\d+\.\d+$/)
    assert.deepEqual(
      [name, manifest.version, manifest['engines'], manifest['bin']],
      ['turnkeep', version, { node: '>=24' }, { turnkeep: 'bin/turnkeep.js' }],
    )
    assert.ok(String(description).length > 20)
    for (const field of ['private', 'scripts', 'workspaces', 'devDependencies', 'optionalDependencies'])
      assert.ok(!(field in manifest), field)
    assert.deepEqual(globSync('node_modules/node-*', { cwd: project.folder }), [])
  })

  void test('the same sources give the same bytes', () => {
    const folder = mkdtempSync(join(tmpdir(), 'turnkeep-again-'))
    try {
      assert.equal(packServer(folder).sha256, project.server.sha256)
      assert.equal(createHash('sha256').update(readFileSync(project.server.tarball)).digest('hex'), project.server.sha256)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  void test('publint reports nothing for either', async () => {
    for (const pkgDir of [project.server.folder, project.client.folder])
      assert.deepEqual((await publint({ pkgDir, pack: false, level: 'warning', strict: true })).messages, [], pkgDir)
  })

  void test('an older Node explains what to do, or starts the Node 24 that is beside the package', async (t) => {
    const beside = project.path(`node-${process.platform}-${process.arch}`)
    t.after(() => rmSync(beside, { recursive: true, force: true }))
    const older = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.5' } })`
    const version = () =>
      project.run([process.execPath, '--import', `data:text/javascript,${older}`, project.path('.bin/turnkeep'), '--version'])
    const refused = { code: 2, stdout: '', stderr: /Turnkeep requires Node 24, but this is Node 20\.19\.5\..*npm install node-/ }
    mkdirSync(join(beside, 'bin'), { recursive: true })
    for (const [besideVersion, wanted] of [
      [undefined, refused],
      // A package's version is written this way, too; started again with the same one, it would loop forever.
      ['v20.19.5', refused],
      ['24.21.0', { code: 0, stdout: `${readManifest(projectRoot).version}\n`, stderr: /^$/ }],
    ] as const) {
      rmSync(join(beside, 'bin/node'), { force: true })
      symlinkSync(process.execPath, join(beside, 'bin/node'))
      if (besideVersion) writeFileSync(join(beside, 'package.json'), JSON.stringify({ version: besideVersion }))
      const { code, stdout, stderr } = await version()
      assert.deepEqual([code, stdout], [wanted.code, wanted.stdout], besideVersion)
      assert.match(stderr, wanted.stderr)
    }
  })

  void describe('npx --no-install turnkeep serve, from the tarball', () => {
    let served: Served
    let adminToken = ''
    before(async () => {
      served = await project.serve()
      adminToken = readFileSync(join(project.folder, '.turnkeep/admin.token'), 'utf8').trim()
    })
    after(() => served?.ctrlC())

    const admin = async (path: string, body?: object): Promise<any> => {
      const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' }
      const init = body ? { method: 'POST', headers, body: JSON.stringify(body) } : { headers }
      const answer = await fetch(`${served.url}/admin/v1${path}`, init)
      const text = await answer.text()
      assert.ok(answer.ok, `${path}: ${answer.status} ${text}`)
      return JSON.parse(text)
    }

    void test('serves pages, descriptions and the console with everything that it loads', async () => {
      for (const path of ['/healthz', '/readyz', '/openapi.json', '/docs', '/console', '/admin/v1/openapi.json']) {
        const headers = path.startsWith('/admin') ? { authorization: `Bearer ${adminToken}` } : {}
        const answer = await fetch(served.url + path, { headers })
        assert.equal(answer.status, 200, path)
        const page = await answer.text()
        for (const [, asset] of page.matchAll(/(?:src|href)="(\/(?:console|docs)\/[^"#]+)"/g)) {
          const loaded = await fetch(new URL(asset!, served.url))
          assert.equal(loaded.status, 200, asset)
          await loaded.body?.cancel()
        }
      }
    })

    void test('the printed command gets a reply, and the second time the same', async () => {
      const [first, again] = [await project.run(['sh', '-c', served.curl]), await project.run(['sh', '-c', served.curl])]
      assert.match(first.stdout, /"role":"assistant","content":"From /)
      assert.equal(again.stdout, first.stdout)
    })

    void test('the client chats, streams and has its types, with both kinds of module resolution', async () => {
      const program = (bits: string): string => `import { RateLimitError, Turnkeep } from '@turnkeep/client'
import type { ChatReply } from '@turnkeep/client'
import { toUIMessageStreamResponse } from '@turnkeep/client/ai-sdk'
const [baseURL${bits}, agentId${bits}, apiKey${bits}] = JSON.parse(process.argv[2]!)${bits && ' as [string, string, string]'}
const client = new Turnkeep({ baseURL, agentId, apiKey })
const question = { externalUserId: 'ann', message: 'What is billed?' }
const reply: ChatReply = await client.chat(question, { idempotencyKey: 'once' })
const again = await client.chat(question, { idempotencyKey: 'once' }).catch((error: unknown) => {
  if (error instanceof RateLimitError) console.log(error.retryAfter)
  throw error
})
if (again.message.id !== reply.message.id) throw new Error('another reply')
let text: string = ''
const stream = client.stream({ externalUserId: 'ann', message: 'And as a stream?' })
for await (const event of stream) if (event.type === 'response.output_text.delta') text += event.delta
if (text !== (await stream.completed).message.content) throw new Error('another text')
const page: Response = toUIMessageStreamResponse(client.turns.stream(reply.requestId), { headers: { 'x-chat': '1' } })
if (!(await page.text()).includes('text-delta')) throw new Error('no reply for a page')
for await (const conversation of client.conversations.list({ externalUserId: 'ann' })) console.log(conversation.conversationId)
`
      writeFileSync(join(project.folder, 'typed.mts'), program(''))
      const service = JSON.stringify([served.url, served.agentId, readFileSync(join(project.folder, '.turnkeep/demo.key'), 'utf8')])
      const ran = await project.run([process.execPath, 'typed.mts', service])
      assert.deepEqual([ran.code, ran.stderr], [0, ''])
      assert.match(ran.stdout, /^conv_\w+\n$/)
      const compiler = join(projectRoot, 'node_modules/typescript/bin/tsc')
      // Only what the client needs from outside: no Node types, which its user may not have.
      writeFileSync(join(project.folder, 'process.d.ts'), 'declare const process: { argv: string[] }\n')
      for (const [module, resolution] of [
        ['nodenext', 'nodenext'],
        ['esnext', 'bundler'],
      ]) {
        const flags = ['--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2022,dom', '--types', '']
        const checked = await project.run([
          process.execPath,
          compiler,
          ...flags,
          '--module',
          module!,
          '--moduleResolution',
          resolution!,
          'typed.mts',
          'process.d.ts',
        ])
        assert.deepEqual([checked.code, checked.stdout], [0, ''], module)
      }
      writeFileSync(join(project.folder, 'wrong.mts'), `import { Turnkeep } from '@turnkeep/client'\nnew Turnkeep({ baseUrl: 'x' })\n`)
      const wrong = await project.run([
        process.execPath,
        compiler,
        '--noEmit',
        '--strict',
        '--types',
        '',
        '--module',
        'nodenext',
        'wrong.mts',
      ])
      assert.match(wrong.stdout, /baseUrl/)
    })

    void test(
      'documents are read, indexed and found by meaning: the process and the threads find their files',
      { timeout: 120_000 },
      async (t) => {
        const embeddings = await startEmbeddingServer()
        t.after(() => embeddings.close())
        await admin('/providers', { name: 'vectors', kind: 'openai-compatible', base_url: embeddings.baseUrl, api_key: 'sk-none' })
        const { data } = await admin('/owners')
        const agent = await admin('/agents', {
          owner_id: data[0].id,
          name: 'reader',
          system_prompt: 'Answer.',
          model: 'demo/demo',
          knowledge: { embedding_model: 'vectors/small' },
        })
        const form = new FormData()
        form.append(
          'file',
          new Blob(['<html><body><h1>Garden</h1><p>Tomatoes want much sun and little wind.</p></body></html>']),
          'garden.html',
        )
        const sent = await fetch(`${served.url}/admin/v1/agents/${agent.id}/documents`, {
          method: 'POST',
          headers: { authorization: `Bearer ${adminToken}` },
          body: form,
        })
        const { id } = (await sent.json()) as { id: string }
        let document
        do document = await admin(`/agents/${agent.id}/documents/${id}`)
        while (['queued', 'indexing'].includes(document.status) && !t.signal.aborted)
        assert.equal(document.status, 'ready', JSON.stringify(document))
        const found = await admin(`/agents/${agent.id}/search`, { query: 'growing vegetables' })
        assert.match(found.data[0].text, /Tomatoes/)
        assert.ok(embeddings.calls.length >= 2)
      },
    )

    void test('verify, owner list, doctor and config run beside it', async () => {
      const at = { PORT: new URL(served.url).port }
      const runs = await Promise.all(
        [['verify'], ['owner', 'list'], ['doctor'], ['config']].map((words) => project.run(['npx', 'turnkeep', ...words], at)),
      )
      const wanted = [/holds|ok/, /10\.0|demo/i, /node +Node 24|Node 24/, /TURNKEEP_DATA_DIR/]
      for (const [index, { code, stdout, stderr }] of runs.entries()) {
        assert.equal(code, 0, `${stdout}${stderr}`)
        assert.match(stdout, wanted[index]!)
        assert.ok(!stdout.includes(adminToken))
      }
      // The console requests it; the server starts the command by its own path.
      assert.equal((await admin('/verify', {})).ok, true)
    })

    void test('Ctrl-C drains it; started again as a service manager would, it exits with 0 at SIGTERM', async () => {
      await served.ctrlC()
      assert.match(served.log(), /"signal":"SIGINT","msg":"draining/)
      assert.doesNotMatch(served.log(), /"level":"(?:error|fatal)"/)
      const server = showServer({ TURNKEEP_DATA_DIR: join(project.folder, '.turnkeep') }, project.path('.bin/turnkeep'))
      await server.ready()
      assert.equal(await server.stop(), 0, server.shown.stderr)
      // Beside the packages, where only those may write who may change the code.
      assert.ok(existsSync(project.path('.cache/turnkeep')))
    })
  })

  void test('several workers on PostgreSQL, from the tarball', { skip: noPostgres() }, async (t) => {
    const database = await makeDatabase()
    const folder = mkdtempSync(join(tmpdir(), 'turnkeep-workers-'))
    const secrets = { TURNKEEP_ADMIN_TOKEN: 'a-token-of-a-test', TURNKEEP_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64') }
    const settings = { DATABASE_URL: database.url, TURNKEEP_WORKERS: '2', TURNKEEP_DATA_DIR: folder, TURNKEEP_DEMO: 'on', ...secrets }
    const server = showServer(settings, project.path('.bin/turnkeep'))
    t.after(async () => {
      server.child.kill('SIGKILL')
      await server.ended
      await database.drop()
      rmSync(folder, { recursive: true, force: true })
    })
    const [curl] = /^curl [\s\S]+/m.exec(await server.ready())!
    assert.match((await project.run(['sh', '-c', curl])).stdout, /"role":"assistant"/)
    assert.equal(await server.stop(), 0, server.shown.stderr)
  })
})
