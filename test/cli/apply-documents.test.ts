/** How `turnkeep apply` matches declared documents with those on the server, and how it waits for them. */
import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { startTestApp } from '../support/test-app.ts'
import type { TestApp } from '../support/test-app.ts'
import { ApplyFixture } from './apply-fixture.ts'

let app: TestApp
let fixture: ApplyFixture
before(async () => {
  app = await startTestApp()
  fixture = new ApplyFixture(app)
  mkdirSync(join(fixture.folder, 'docs'))
  fixture.write('docs/returns.md', '# Returns and refunds\n\nWithin thirty days.\n')
  await fixture.applied('owners: [{name: Shared, agents: [{name: A, model: demo/demo, system_prompt: a}]}]')
})
after(async () => {
  fixture[Symbol.dispose]()
  await app.close()
})

describe('turnkeep apply: documents', { concurrency: false }, () => {
  test('a document is matched by its title, its file or its URL, also when two files have the same name', async () => {
    for (const folder of ['a', 'b']) {
      mkdirSync(join(fixture.folder, folder))
      fixture.write(`${folder}/README.md`, `# Read me\n\nThis is ${folder}.\n`)
    }
    const declared = (first: string) => `
owners:
  - name: Shared
    agents:
      - name: A
        documents:
          - {file: a/README.md, title: ${first}}
          - {file: b/README.md, title: Of b}
          - {file: docs/returns.md}
`
    await fixture.applied(declared('Of a'), '--wait')
    assert.match((await fixture.applied(declared('Of a'))).stdout, /^No changes\. 5 unchanged/)
    const { stdout } = await fixture.applied(declared('First'))
    assert.match(stdout, /^~ {5}document First\n {10}title: Of a → First\n\nPlan: 1 to update, 4 unchanged/m)
  })

  test('a file with the same name but another title and content is another document, and replaces none', async () => {
    mkdirSync(join(fixture.folder, 'install'))
    fixture.write('readme.md', '# Guide\n\nHow it is used.\n')
    fixture.write('install/readme.md', '# Install\n\nHow it is set up.\n')
    const declared = (documents: string) =>
      `owners: [{name: Shared, agents: [{name: C, model: demo/demo, system_prompt: c, ${documents}}]}]`
    await fixture.applied(declared('documents: [{file: readme.md, title: Guide}]'))
    const other = declared('documents: [{file: install/readme.md, title: Install}]')
    const { stdout } = await fixture.applied(other)
    assert.match(stdout, /^Plan: 1 to create, 2 unchanged\.\nNot in the file and left unchanged: .*1 document \(--prune/m)
    const { id } = await fixture.one('/agents', 'C')
    assert.deepEqual((await fixture.list(`/agents/${id}/documents`)).map(({ title }) => title).toSorted(), ['Guide', 'Install'])
    assert.match((await fixture.applied(other, '--prune')).stdout, /^- {5}document Guide /m)
  })

  test('--wait ends when all are searchable, and reports unreadable ones after all else is done', async () => {
    writeFileSync(join(fixture.folder, 'picture.pdf'), Buffer.from('89504e470d0a1a0a0000', 'hex'))
    const declared = 'owners: [{name: Shared, agents: [{name: A, documents: [{file: picture.pdf}, {title: Last, text: The last one.}]}]}]'
    fixture.write('agents.yaml', declared)
    const ran = await fixture.apply(['--wait'])
    assert.equal(ran.code, 2)
    assert.match(ran.stdout, /^Created document Last of A/m)
    assert.match(ran.stderr, /^turnkeep: cannot read document picture\.pdf of A: .*PNG/m)
    assert.equal((await fixture.one(`/agents/${(await fixture.one('/agents', 'A')).id}/documents`, 'Last')).status, 'ready')
    // It exists as declared: its error is reported again.
    const again = await fixture.apply(['--wait'])
    assert.deepEqual([again.code, again.stdout.startsWith('No changes.'), /picture\.pdf/.test(again.stderr)], [2, true, true])
  })

  test('a document from before digests were stored is sent again once', async () => {
    const { id } = await fixture.one('/agents', 'A')
    await app.app.store.write.putDocument({
      id: 'doc_from_before',
      agentId: id,
      title: 'Old',
      source: 'text',
      mediaType: null,
      fileName: null,
      url: null,
      contentId: null,
      bytes: 5,
    })
    const declared = 'owners: [{name: Shared, agents: [{name: A, documents: [{title: Old, text: "Hello"}]}]}]'
    assert.match((await fixture.applied(declared)).stdout, /content: 5 bytes, unknown digest → 5 bytes, sha256/)
    assert.match((await fixture.applied(declared)).stdout, /^No changes\./)
  })
})
