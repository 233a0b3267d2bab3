/**
 * The documents are true: every command and snippet in them, and on /docs, runs against a real server and prints the output below it;
 * docs/errors agrees with the failure table; docs/exactly-once.md names existing tests and every failpoint; docs/operate/settings.md is
 * generated from config.ts (after an intended change: `node test/docs.test.ts --update-golden`). A block that cannot run here says why in
 * its first line (support/document-blocks.ts). Other facts in the documents are checked by docs-facts.test.ts.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { failpointNames } from '../src/failpoints.ts'
import { adminCodes, failures } from '../src/errors.ts'
import type { FailureCode } from '../src/errors.ts'
import { DocsFixture, snippetsOfPage } from './support/docs-fixture.ts'
import { blocksOf } from './support/document-blocks.ts'
import { numbersIn, readExactlyOncePage } from './support/exactly-once-page.ts'
import { permissionTables } from './support/permission-table.ts'
import { settingsPage } from './support/settings-page.ts'
import { assertShown } from './support/shown-output.ts'
import { startTestLayer } from './support/test-http-layer.ts'

const root = join(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const places = ['README.md', 'docs/**/*.md', 'packages/client/README.md', 'clients/*.md', 'clients/python/*.md']
const documents = places.flatMap((place) => globSync(place, { cwd: root })).toSorted()
const codes = Object.keys(failures) as FailureCode[]

const missing = ['bash', 'curl', 'python3'].filter((program) => spawnSync(program, ['--version']).error)
const options = { skip: missing.length > 0 && `needs ${missing.join(', ')}: apt-get install ${missing.join(' ')}` }

// The demo model generates at a reader's pace: while one command waits for it, another runs.
void describe('docs: commands and snippets', { concurrency: 4 }, () => {
  for (const file of documents) {
    const blocks = blocksOf(read(file))
    if (blocks.length === 0) continue
    void test(`docs: every command of ${file} runs`, options, async (t) => {
      for (const { text, how, reason } of blocks) if (how === 'no-run') t.diagnostic(`not run: ${text.split('\n')[0]} (${reason})`)
      const run = blocks.filter(({ how }) => how !== 'no-run')
      if (run.length === 0) return
      await using fixture = await DocsFixture.open()
      for (const { language, text, how, shown } of run) {
        const printed = await fixture.run(language, text, how)
        for (const one of shown) {
          if (one.as === 'again') assert.equal(await fixture.run(language, text, how), printed, `the same again:\n${text}`)
          assertShown(one, printed, text)
        }
      }
    })
  }

  void test('docs: every snippet of /docs runs, in each of its languages', options, async (t) => {
    await using fixture = await DocsFixture.open()
    const page = await (await fetch(`${fixture.url}/docs`)).text()
    const conversation = await fixture.converse()
    const snippets = snippetsOfPage(page)
    const count = (language: string): number => snippets.filter((snippet) => snippet.language === language && !snippet.reason).length
    assert.deepEqual([count('sh'), count('typescript'), count('python')], [12, 11, 11])
    for (const { language, text, reason } of snippets) {
      if (reason) t.diagnostic(`not run: ${text.split('\n')[0]} (${reason})`)
      else assert.match(await fixture.run(language, text, 'run', conversation), /\S/, text)
    }
  })
})

/** `Retry-After` of the codes whose wait is computed. */
const computed: Partial<Record<FailureCode, string>> = {
  rate_limit_exceeded: 'seconds to the end of the window',
  spend_limit_exceeded: 'seconds to the end of the window; none if it never ends',
}

void test('docs/errors has one page for each code of the failure table, with its status and Retry-After', () => {
  const pages = globSync('docs/errors/*.md', { cwd: root }).map((file) => file.slice('docs/errors/'.length, -'.md'.length))
  assert.deepEqual(pages.toSorted(), codes.toSorted())
  for (const code of codes) {
    const page = read(`docs/errors/${code}.md`)
    const { status, message, retryAfterSeconds }: { status: number; message: string; retryAfterSeconds?: number } = failures[code]
    const fact = (name: string): string =>
      new RegExp(`^\\| ${name} \\| (.*) \\|$`, 'm').exec(page)?.[1] ?? assert.fail(`${code} does not say ${name}`)
    assert.ok(page.startsWith(`# ${code}\n`), code)
    // The codes whose figure is not in the table: one has four statuses, the waits of others are computed.
    assert.equal(fact('status'), code === 'bad_request' ? '400, 408, 417 or 431' : String(status), code)
    assert.equal(fact('`Retry-After`'), computed[code] ?? String(retryAfterSeconds ?? 'none'), code)
    assert.match(fact('retry with'), /^(the same key|the same request|a new key|none)/, code)
    assert.match(fact('charged'), /^(nothing|unknown)/, code)
    for (const heading of ['## What happened', '## What to do', '## Example'])
      assert.ok(page.includes(`\n${heading}\n`), `${code}: ${heading}`)
    const [, head, body] = /```http\n([\s\S]*?)\n\n(.*)\n```/.exec(page) ?? assert.fail(`${code} has no example`)
    const { error } = JSON.parse(body!) as { error: Record<string, string> }
    // The only one here that is about a field of a request to the admin API.
    const named = code === 'conflict' ? ['param'] : []
    assert.deepEqual(Object.keys(error), ['code', 'message', 'request_id', ...named], code)
    assert.equal(error['code'], code)
    // The messages of these depend on the request; the last one lists the methods after the table's sentence.
    if (!['validation_error', 'conflict', 'forbidden', 'method_not_allowed'].includes(code)) assert.equal(error['message'], message, code)
    if (code === 'method_not_allowed') assert.equal(error['message'], `${message} Use POST.`)
    assert.ok(head!.startsWith(`HTTP/1.1 ${status} `) && head!.includes(`X-Request-ID: ${error['request_id']}\n`), code)
    assert.equal(/^Retry-After: (\d+)$/m.exec(head!)?.[1] !== undefined, fact('`Retry-After`') !== 'none', code)
  }
})

void test('docs/spec.md lists every code of the public API with the status and Retry-After of the table', () => {
  const rows = [...read('docs/spec.md').matchAll(/^\| `(\w+)` \| ([\d, ]+) \|([^|]*)\|/gm)].map(([, code, status, wait]) => [
    code,
    status,
    wait!.trim(),
  ])
  const table = codes
    .filter((code) => !adminCodes.includes(code))
    .map((code) => {
      const { status, retryAfterSeconds }: { status: number; retryAfterSeconds?: number } = failures[code]
      return [code, code === 'bad_request' ? '400, 408, 417, 431' : String(status), computed[code] ?? String(retryAfterSeconds ?? '')]
    })
  assert.deepEqual(rows.toSorted(), table.toSorted())
})

void test('docs/exactly-once.md: every line names a test, and every named test exists', () => {
  const { lines, tests } = readExactlyOncePage()
  assert.deepEqual(
    tests.map(({ number }) => number),
    tests.map((_, index) => index + 1),
  )
  for (const { file, words } of tests) {
    // A long title is on the line after.
    const titles = [...read(file).matchAll(/\b(?:test|check)\(\s*(\S.*)/g)].map(([, title]) => title!)
    for (const part of words)
      assert.ok(
        titles.some((line) => line.includes(part)),
        `${file} has no test "${part}"`,
      )
  }
  const shown = lines.filter((line) => 'test' in line)
  for (const line of shown) assert.match(line['test']!, /^\d+(?:, \d+)*$/, JSON.stringify(line))
  const named = new Set(shown.flatMap((line) => numbersIn(line['test'])))
  assert.deepEqual(
    [...named].toSorted((a, b) => a - b),
    tests.map(({ number }) => number),
    'each test is named by a line',
  )
})

void test('docs/exactly-once.md: every failpoint is in the table of kills, with the test that kills at each', () => {
  const { lines, tests } = readExactlyOncePage()
  const walk = tests.find(({ file }) => file === 'test/race/every-failpoint.ts')!.number
  const killed = lines.flatMap((line) => {
    const points = [...(line['killed at'] ?? '').matchAll(/`([a-z-]+\.[a-z-]+)`/g)].map(([, point]) => point!)
    if (points.length > 0 && !line['killed at']!.includes('message only'))
      assert.ok(numbersIn(line['test']).includes(walk), points.join(', '))
    return points
  })
  assert.deepEqual([...new Set(killed)].toSorted(), Object.keys(failpointNames).toSorted())
  // What only one turn is killed at has a separate test, which says at which of the moments of a turn it is.
  const crash = 'test/race/crash.test.ts'
  for (const [, point, fault, moment] of read(crash).matchAll(/point: '(\S+)', fault: '(\S+)', moment: '(P\d)'/g)) {
    const line = lines.find((one) => one['killed at']?.startsWith(`${moment}: `) && one['killed at'].includes(`\`${point}\``))
    assert.ok(line && line['fault']?.includes(`\`${fault}\``), `${point}, ${moment}, ${fault}`)
    assert.ok(
      tests.some(({ number, file }) => file === crash && numbersIn(line['test']).includes(number)),
      point,
    )
  }
  // The tables of other actions name failpoints by their prefix too.
  for (const line of lines)
    for (const [, begin] of (line['point and action'] ?? '').matchAll(/`([a-z-]+\.(?:[a-z-]+|\*))`/g))
      assert.ok(
        Object.keys(failpointNames).some((name) => (begin!.endsWith('*') ? name.startsWith(begin!.slice(0, -1)) : name === begin)),
        begin,
      )
})

void test('docs/exactly-once.md: the total of the runs is their sum', () => {
  const runs = readExactlyOncePage().lines.filter((line) => 'kill -9' in line)
  const isTotal = (line: Record<string, string>): boolean => line['what'] === '**total**'
  const total = runs.find(isTotal)
  assert.ok(total)
  for (const [name, said] of Object.entries(total).slice(3)) {
    const sum = runs.filter((line) => !isTotal(line)).reduce((all, line) => all + figure(line[name]!), 0)
    assert.equal(figure(said), sum, name)
  }
})

/** `1,234`; a dash if there was none of it. */
function figure(cell: string): number {
  assert.match(cell, /^(?:[\d,.]+|–)$/)
  return cell === '–' ? 0 : Number(cell.replaceAll(',', ''))
}

void test('docs/operate/settings.md is generated from config.ts; after an intended change: node test/docs.test.ts --update-golden', () => {
  const file = join(root, 'docs/operate/settings.md')
  if (process.argv.includes('--update-golden')) writeFileSync(file, settingsPage())
  assert.equal(readFileSync(file, 'utf8'), settingsPage())
})

void test('docs/operate/operators.md says who may do what as the code does; after an intended change: --update-golden', () => {
  const file = join(root, 'docs/operate/operators.md')
  const page = readFileSync(file, 'utf8')
  const written = page.slice(0, page.indexOf('## Who may do what')) + permissionTables()
  if (process.argv.includes('--update-golden')) writeFileSync(file, written)
  assert.equal(readFileSync(file, 'utf8'), written)
})

void test('docs: every relative link leads to an existing file, and to one of its headings', () => {
  const slug = (heading: string): string =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-')
  for (const file of documents) {
    for (const [, target] of withoutFences(read(file)).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)) {
      const [path, anchor] = target!.split('#')
      const linked = path === '' ? file : join(file, '..', path!)
      assert.ok(globSync(linked, { cwd: root }).length > 0, `${file}: ${target}`)
      if (anchor === undefined) continue
      const headings = [...read(linked).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => slug(heading!))
      assert.ok(headings.includes(anchor), `${file}: ${target}`)
    }
  }
})

void test('docs: the page lists every page of docs/errors that a caller may get', async () => {
  await using layer = await startTestLayer()
  const page = await (await fetch(`${layer.url}/docs`)).text()
  const shown = [...page.matchAll(/<details id="(\w+)">/g)].map(([, code]) => code!)
  assert.deepEqual(shown.toSorted(), codes.filter((code) => !adminCodes.includes(code)).toSorted())
})

const withoutFences = (text: string): string => text.replace(/^```[\s\S]*?^```$/gm, '')
