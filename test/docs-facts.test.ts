/**
 * The documents agree with the code: how the clients handle each error, the figures of docs/guides/limits.md, the names in the pictures,
 * and JSON, YAML and nginx blocks that their programs can parse. Runs no commands; docs.test.ts does.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseAllDocuments } from 'yaml'
import { causeKinds } from '../src/cause-kinds.ts'
import { failpointNames } from '../src/failpoints.ts'
import { adminCodes, failures } from '../src/errors.ts'
import type { FailureCode } from '../src/errors.ts'
import { readManners } from './support/client-manners.ts'
import type { Manner } from './support/client-manners.ts'
import { passagesOf } from './support/document-blocks.ts'
import { limitsInCode } from './support/limits-in-code.ts'

const root = join(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const codes = Object.keys(failures) as FailureCode[]
const publicCodes = codes.filter((code) => !adminCodes.includes(code))
const documents = ['README.md', 'docs/**/*.md', 'packages/client/README.md', 'clients/**/*.md'].flatMap((place) =>
  globSync(place, { cwd: root }),
)

const factOf = (code: string, name: string): string =>
  new RegExp(`^\\| ${name} \\| (.*) \\|$`, 'm').exec(read(`docs/errors/${code}.md`))?.[1] ?? assert.fail(`${code} does not say: ${name}`)

const noPython = spawnSync('python3', ['--version']).error ? 'needs python3: apt-get install python3' : false

void test('docs/errors: what the clients do with each code is what both of them do', { skip: noPython }, async () => {
  const { typescript, python } = await readManners(publicCodes)
  for (const code of publicCodes) {
    const said = factOf(code, 'clients')
    assert.equal(said, wordsOf(code, typescript[code]!), `${code}, TypeScript`)
    assert.equal(said, wordsOf(code, python[code]!), `${code}, Python`)
  }
  for (const code of adminCodes) assert.match(factOf(code, 'clients'), /^none/)
})

/** A running turn is waited for, and counts no attempt. */
const turnsRun = ['idempotency_in_progress', 'conversation_busy']

function wordsOf(code: string, { thrown, again }: Manner): string {
  if (code === 'bad_request') return `\`${thrown}\` for 400, \`APIError\` for the others; without retries`
  if (!again) return `\`${thrown}\`, without retries`
  return turnsRun.includes(code)
    ? `wait for it, up to \`maxWait\`; then \`${thrown}\``
    : `send it again, \`maxRetries\` times; then \`${thrown}\``
}

void test('docs/guides/retries-and-keys.md: which key to use after an error agrees with docs/errors', () => {
  const rows = [...read('docs/guides/retries-and-keys.md').matchAll(/^\| \[`(\w+)`\]\(\.\.\/errors\/\1\.md\) \| (.*) \|$/gm)].map(
    ([, code, cells]) => [code, ...cells!.split(' | ')],
  )
  const pages = publicCodes.map((code) => [code, ...['status', '`Retry-After`', 'retry with', 'clients'].map((name) => factOf(code, name))])
  assert.deepEqual(rows, pages)
})

void test('docs/guides/limits.md: every figure is that of the code', () => {
  const page = read('docs/guides/limits.md')
  for (const { row, figure, file, constant } of limitsInCode) {
    const line = page.split('\n').find((one) => one.startsWith(`| ${row} |`)) ?? assert.fail(`no row: ${row}`)
    assert.ok(line.split('|')[2]!.includes(figure), `${line} should say ${figure}`)
    assert.match(read(file), constant, `${row}: ${file} says something else than ${figure}`)
  }
  const rows = [...page.matchAll(/^\| (?!what|---)([^|]+) \| ([^|]*\d[^|]*) \|/gm)].map(([, row]) => row!)
  assert.deepEqual(
    rows.filter((row) => !limitsInCode.some((limit) => limit.row === row)),
    [],
    'a row without a constant',
  )
})

void test('docs/pictures: their codes, statuses and failpoints are those of the code; each has a title, a description and two color schemes', () => {
  const pictures = globSync('docs/pictures/*.svg', { cwd: root })
  assert.ok(pictures.length >= 3)
  for (const file of pictures) {
    const picture = read(file)
    assert.match(picture, /<title id="title">.+<\/title>\n {2}<desc id="desc">.+<\/desc>/)
    assert.match(picture, /prefers-color-scheme: dark/)
    assert.ok(Number(/ width="(\d+)"/.exec(picture)![1]) <= 900, file)
    for (const [, kind, status, code] of picture.matchAll(/<text [^>]*class="code t-(\w+)">(\d{3}) (\w+_\w+)<\/text>/g)) {
      assert.equal(String(failures[code as FailureCode]?.status), status, `${file}: ${code}`)
      // Codes that the clients retry by themselves have a color. A failed turn in the crash table has another: it is not retried.
      if (kind !== 'bad') assert.equal(kind === 'again', !factOf(code!, 'clients').endsWith('without retries'), `${file}: ${code}`)
    }
  }
  const shown = [...read('docs/pictures/one-turn.svg').matchAll(/>[\d ·]*\d{3} (\w+_\w+)</g)].map(([, code]) => code!)
  assert.deepEqual([...new Set([...shown, 'not_found'])].toSorted(), publicCodes.toSorted(), 'every exit')
  for (const state of ['running', 'completed', 'failed', 'released', 'cancelled'])
    assert.ok(read('docs/pictures/one-turn.svg').includes(`>${state}<`), state)

  const table = read('docs/exactly-once.md').split('\n')
  const moments = [...read('docs/pictures/crash-table.svg').matchAll(/>(P\d) {2}<|>([a-z-]+\.[a-z-]+)</g)]
  let moment = ''
  for (const [, next, failpoint] of moments) {
    if (next) moment = next
    else {
      assert.ok(Object.hasOwn(failpointNames, failpoint!), failpoint)
      assert.ok(
        table.some((line) => line.startsWith(`| ${moment}: `) && line.includes(`\`${failpoint}\``)),
        `${moment}: ${failpoint}`,
      )
    }
  }
  assert.equal(moment, 'P4')

  const deployment = read('docs/pictures/deployment.svg')
  const settings = read('docs/operate/settings.md')
  for (const [, name] of deployment.matchAll(/\b((?:TURNKEEP_[A-Z]\w+|DATABASE_URL|REDIS_URL))\b/g))
    assert.ok(settings.includes(`\`${name}\``), name)
})

void test('docs: every JSON, YAML and HTTP block can be parsed', () => {
  for (const file of documents) {
    for (const { language, text } of passagesOf(read(file))) {
      const where = `${file}:\n${text}`
      if (language === 'json') assert.doesNotThrow(() => JSON.parse(text) as unknown, where)
      if (language === 'yaml') for (const { errors } of parseAllDocuments(text)) assert.deepEqual(errors, [], where)
      if (language === 'http')
        assert.match(text, /^(HTTP\/1\.1 \d{3} [\w ]+|[A-Z]+ \/\S* HTTP\/1\.1)\n(?:[\w-]+: .*\n?)+(?:\n\S.*)?$/, where)
    }
  }
})

const noNginx = spawnSync('nginx', ['-v']).error ? 'needs nginx: apt-get install nginx' : false

void test('docs: nginx accepts every nginx block, in a separate server', { skip: noNginx }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-docs-nginx-'))
  try {
    const blocks = documents.flatMap((file) => passagesOf(read(file)).filter(({ language }) => language === 'nginx'))
    assert.ok(blocks.length > 0)
    for (const { text } of blocks) {
      const file = join(folder, 'nginx.conf')
      writeFileSync(
        file,
        `pid ${folder}/pid; error_log stderr; events {}\nhttp { access_log off; server { listen 127.0.0.1:65000;\n${text}\n} }\n`,
      )
      const { status, stderr } = spawnSync('nginx', ['-t', '-p', folder, '-c', file], { encoding: 'utf8' })
      assert.equal(status, 0, stderr)
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
})

void test('log.cause-kind: docs/operate/causes.md explains each kind of cause once, and no other', () => {
  const rows = read('docs/operate/causes.md').matchAll(/^\| (`[^|]*`) \|/gm)
  const named = [...rows]
    .flatMap(([, cell]) => [...cell!.matchAll(/`(\w+)`/g)].map(([, kind]) => kind!))
    .filter((kind) => kind !== 'cause_kind')
  assert.deepEqual(named.toSorted(), [...causeKinds].toSorted())
})
