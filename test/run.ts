/**
 * `npm test`: every test file with Node's own runner, two at a time. Names what was skipped and how to get what is missing; with CI=true a
 * skip is a failure. Arguments are parts of file names: `npm test -- 4-1-chat store/`.
 */
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { Transform } from 'node:stream'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import type { TestEvent } from 'node:test/reporters'

const root = join(import.meta.dirname, '..')
const wanted = process.argv.slice(2)
const files = globSync(['test/**/*.test.ts', 'packages/*/test/**/*.test.ts'], { cwd: root })
  .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
  .toSorted()
if (files.length === 0) {
  console.error(`no test file is named like ${wanted.join(' or ')}`)
  process.exit(1)
}

const skipped: string[] = []
let failed = 0

/** Says what was skipped just above the runner's summary, whose lines stay the last. */
const tellSkipped = new Transform({
  objectMode: true,
  transform(event: TestEvent, _encoding, done) {
    if (event.type === 'test:fail') failed += 1
    if ((event.type === 'test:pass' || event.type === 'test:fail') && (event.data.skip || event.data.todo)) {
      const reason = event.data.skip ?? event.data.todo
      skipped.push(`${event.data.name}${typeof reason === 'string' ? `: ${reason}` : ''}`)
    }
    if (event.type === 'test:diagnostic' && event.data.message.startsWith('tests ')) {
      if (skipped.length > 0)
        this.push(diagnostic(`${skipped.length} skipped${process.env['CI'] === 'true' ? ', which is a failure with CI=true' : ''}`))
      for (const line of skipped) this.push(diagnostic(`skipped ${line}`))
    }
    done(null, event)
  },
})

function diagnostic(message: string): object {
  return { type: 'test:diagnostic', data: { nesting: 0, message } }
}

// Five minutes a file: the slowest takes one, and a test that waits for what never comes must end.
run({ files: files.map((file) => join(root, file)), concurrency: 2, cwd: root, timeout: 300_000 })
  .compose(tellSkipped)
  .compose(new spec())
  .on('end', () => {
    if (failed > 0 || (skipped.length > 0 && process.env['CI'] === 'true')) process.exitCode = 1
  })
  .pipe(process.stdout)
