/** `turnkeep document add` with several sources, and the chunks of a document. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { runCommand } from '../support/run-command.ts'
import type { Ran } from '../support/run-command.ts'
import { adminToken, startTestApp } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'

let app: TestApp
let folder: string
before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'turnkeep-add-'))
  app = await startTestApp()
})
after(async () => {
  await app.close()
  rmSync(folder, { recursive: true, force: true })
})

const run = (args: string[], input?: string): Promise<Ran> =>
  runCommand(args, { TURNKEEP_PUBLIC_URL: app.url, TURNKEEP_ADMIN_TOKEN: adminToken }, input)
const add = (agent: string, ...args: string[]): Promise<Ran> => run(['document', 'add', agent, ...args])

function write(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const newAgent = async (name: string): Promise<string> =>
  (await app.made('POST', '/agents', { owner_id: app.caller.ownerId, name, system_prompt: 's', model: 'demo/demo' })).id

async function added(agent: string, ...args: string[]): Promise<{ action: string; source: string; document: Json }[]> {
  const ran = await add(agent, ...args, '--json')
  assert.equal(ran.code, 0, ran.stderr)
  return JSON.parse(ran.stdout).data
}

const listed = async (agentId: string): Promise<Json[]> => (await app.made('GET', `/agents/${agentId}/documents?limit=100`)).data

describe('turnkeep document add', () => {
  test('--wait says what was not read of a document, and the list has the number of warnings', async () => {
    await newAgent('Maps')
    const ran = await add('Maps', write('map.html', '<h1>Map</h1><p>The pier is in the north.</p><img src="a.png">'), '--wait', '--json')
    assert.equal(ran.code, 0, ran.stderr)
    assert.match(ran.stderr, /^Warning: .*map\.html: 1 picture was not read\./m)
    assert.match((await run(['document', 'list', 'Maps'])).stdout, /warnings/i)
  })

  test('takes files, folders and patterns; a second run skips what has not changed and replaces what has', async () => {
    const agentId = await newAgent('Library')
    mkdirSync(join(folder, 'papers/deep/node_modules'), { recursive: true })
    const returns = write('papers/returns.md', '# Returns\n\nThirty days.')
    write('papers/deep/shipping.txt', 'We ship on Mondays.')
    write('papers/.hidden.md', 'secret')
    write('papers/picture.png', 'x')
    write('papers/deep/node_modules/other.md', 'of a package')
    symlinkSync('/etc/hostname', join(folder, 'papers/link.md'))
    const hours = write('hours.md', '# Hours')
    const first = await added('Library', join(folder, 'papers'), join(folder, '*.md'), hours)
    assert.deepEqual(
      first.map(({ action, document }) => [action, document['file_name']]),
      [
        ['added', 'shipping.txt'],
        ['added', 'returns.md'],
        ['added', 'hours.md'],
      ],
    )
    writeFileSync(returns, '# Returns\n\nSixty days.')
    const again = await added('Library', join(folder, 'papers'), hours, '--wait')
    assert.deepEqual(
      again.map(({ action, document }) => [action, document['file_name'], document['status']]),
      [
        ['unchanged', 'shipping.txt', 'ready'],
        ['replaced', 'returns.md', 'ready'],
        ['unchanged', 'hours.md', 'ready'],
      ],
    )
    assert.equal((await listed(agentId)).length, 3)
    const { data } = await app.made('POST', `/agents/${agentId}/search`, { query: 'returns' })
    assert.match(data[0].text, /Sixty days/)
    const table = await add('Library', join(folder, 'papers'))
    assert.match(
      table.stdout,
      /^action +ID +status +source\nunchanged +doc_\w+ +ready +\S+shipping\.txt\nunchanged +doc_\w+ +ready +\S+returns\.md\n$/,
    )
  })

  test('one file, URL or text is replaced by its name, and an unchanged one is not sent again', async () => {
    const agentId = await newAgent('Single')
    const file = write('guide.md', 'First.')
    const document = JSON.parse((await add('Single', file, '--json', '--wait')).stdout) as Json
    const same = await add('Single', file, '--json')
    assert.deepEqual([JSON.parse(same.stdout).id, same.stderr], [document.id, 'The document has not changed.\n'])
    writeFileSync(file, 'Second.')
    const other = await add('Single', file, '--json')
    assert.deepEqual([JSON.parse(other.stdout).id, other.stderr], [document.id, 'Replaced the document of the same name.\n'])
    const titled = await add('Single', file, '--title', 'Guide', '--json')
    assert.deepEqual([JSON.parse(titled.stdout).id, JSON.parse(titled.stdout).title], [document.id, 'Guide'])
    const page = JSON.parse((await add('Single', 'https://example.invalid/page', '--json')).stdout) as Json
    assert.equal(JSON.parse((await add('Single', 'https://example.invalid/page', '--json')).stdout).id, page.id)
    const text = JSON.parse((await run(['document', 'add', 'Single', '-', '--title', 'Text', '--json'], 'a')).stdout) as Json
    const replaced = await run(['document', 'add', 'Single', '-', '--title', 'Text', '--json'], 'b')
    assert.equal(JSON.parse(replaced.stdout).id, text.id)
    assert.equal((await listed(agentId)).length, 3)
  })

  test('files of the same name in several folders stay apart, by their paths; a name that several documents have is refused', async () => {
    const agentId = await newAgent('Twice')
    for (const part of ['one', 'two']) {
      mkdirSync(join(folder, 'twice', part), { recursive: true })
      write(`twice/${part}/readme.md`, `About ${part}.`)
    }
    const first = await added('Twice', join(folder, 'twice'))
    assert.deepEqual(
      first.map(({ document }) => document['title']),
      ['one/readme.md', 'two/readme.md'],
    )
    write('twice/one/readme.md', 'About one, again.')
    const again = await added('Twice', join(folder, 'twice'), '--wait')
    assert.deepEqual(
      again.map(({ action, document }, index) => [action, document['id'] === first[index]!.document['id']]),
      [
        ['replaced', true],
        ['unchanged', true],
      ],
    )
    const other = write('readme.md', 'Another one.')
    const refused = await add('Twice', other)
    assert.equal(refused.code, 1)
    for (const { document } of first) assert.ok(refused.stderr.includes(document['id']), refused.stderr)
    assert.match(refused.stderr, /^turnkeep: 2 documents are named .*readme\.md: .*\. Choose one of them with --replace\n$/)
    assert.equal((await add('Twice', other, '--replace', 'two/readme.md')).code, 0)
    assert.equal((await listed(agentId)).length, 2)
  })

  test('what the server refuses does not stop the others; --title and --replace are for one source', async () => {
    await newAgent('Refused')
    write('empty.md', '')
    const ran = await add('Refused', write('good.md', 'Good.'), join(folder, 'empty.md'))
    assert.equal(ran.code, 1)
    assert.match(ran.stdout, /\nadded +doc_\w+ +\w+ +\S+good\.md\n$/)
    assert.match(ran.stderr, /turnkeep: cannot add \S+empty\.md: .*empty.*\(validation_error, 422/)
    for (const flags of [
      ['--title', 'T'],
      ['--replace', 'doc_x'],
    ])
      assert.equal((await add('Refused', join(folder, 'good.md'), join(folder, 'empty.md'), ...flags)).code, 2)
  })
})

describe('the chunks of a document', () => {
  const text = Array.from({ length: 60 }, (_, index) => `## Part ${index}\n\n${`Sentence ${index} is here. `.repeat(30)}`).join('\n\n')

  test('the API lists them in the order of the document, page by page, and show --chunks prints them', async () => {
    const agentId = await newAgent('Chunked')
    const path = `/agents/${agentId}/documents`
    const document = await app.made('POST', path, { title: 'Parts', text })
    assert.equal((await app.made('GET', `${path}/${document.id}/chunks`)).next_cursor, null)
    for (let status = ''; status !== 'ready';) status = (await app.made('GET', `${path}/${document.id}`)).status
    const { chunks } = await app.made('GET', `${path}/${document.id}`)
    const found: Json[] = []
    let cursor: string | null = ''
    do {
      const page: Json = await app.made('GET', `${path}/${document.id}/chunks?limit=7${cursor ? `&cursor=${cursor}` : ''}`)
      found.push(...page.data)
      cursor = page.next_cursor
    } while (cursor)
    assert.ok(chunks > 7)
    assert.deepEqual(
      found.map(({ position }) => position),
      Array.from({ length: chunks }, (_, index) => index),
    )
    assert.equal(found[0]!.section, 'Part 0')
    assert.match(found[0]!.text, /^.*Sentence 0 is here\./s)
    const { stdout } = await run(['document', 'show', 'Chunked', 'Parts', '--chunks'])
    assert.match(stdout, /^\[1\] Part 0\n[^]*Sentence 0 is here\.[^]*\n\n\[2\] /)
    assert.equal(stdout.match(/^\[\d+\] Part/gm)?.length, chunks)
    const shown = JSON.parse((await run(['document', 'show', 'Chunked', 'Parts', '--chunks', '--json'])).stdout) as Json
    assert.deepEqual(shown.data, found)
  })

  test('of another agent, and of a document that does not exist, there are none: 404', async () => {
    const [agentId, other] = [await newAgent('Mine'), await newAgent('Theirs')]
    const document = await app.made('POST', `/agents/${agentId}/documents`, { title: 'T', text: 'x' })
    for (const path of [`/agents/${other}/documents/${document.id}/chunks`, `/agents/${agentId}/documents/doc_none/chunks`])
      assert.equal((await app.admin('GET', path)).status, 404)
    assert.equal((await app.admin('GET', `/agents/${agentId}/documents/${document.id}/chunks?cursor=x`)).status, 422)
  })
})
