/** No file imports itself through others, types included: a cycle can only be read, moved or tested as a whole. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { describe, test } from 'node:test'

const root = join(import.meta.dirname, '..')

type Graph = Map<string, string[]>

/** Every relative import and export of the files, with those of types and those by `import()`. */
function graphOf(files: string[], read: (file: string) => string): Graph {
  const known = new Set(files)
  return new Map(
    files.map((file) => {
      const code = read(file)
      const paths = [...code.matchAll(/^(?:import|export)\s[^'"]*?'(\.[^']+)'|^\} from '(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm)]
      const targets = paths.map(([, one, two, three]) => posix.join(dirname(file), (one ?? two ?? three)!))
      return [file, targets.filter((target) => known.has(target))]
    }),
  )
}

/** One cycle of the graph, in the order of its imports; undefined if there is none. */
function findCycle(graph: Graph): string[] | undefined {
  const finished = new Set<string>()
  const path: string[] = []
  const visit = (file: string): string[] | undefined => {
    if (finished.has(file)) return undefined
    const start = path.indexOf(file)
    if (start !== -1) return [...path.slice(start), file]
    path.push(file)
    for (const next of graph.get(file)!) {
      const cycle = visit(next)
      if (cycle) return cycle
    }
    path.pop()
    finished.add(file)
    return undefined
  }
  for (const file of graph.keys()) {
    const cycle = visit(file)
    if (cycle) return cycle
  }
  return undefined
}

describe('import cycles', () => {
  test('finds a cycle, also one of types, of several lines or by import()', () => {
    const files: Record<string, string> = {
      'a.ts': "import { b } from './b.ts'\n",
      'b.ts': "import type {\n  C,\n} from './c.ts'\n",
      'c.ts': "const { a } = await import('./a.ts')\n",
      'd.ts': "export * from './a.ts'\n",
    }
    const graph = graphOf(Object.keys(files), (file) => files[file]!)
    assert.deepEqual(findCycle(graph), ['a.ts', 'b.ts', 'c.ts', 'a.ts'])
    graph.set('c.ts', [])
    assert.equal(findCycle(graph), undefined)
  })

  for (const folder of ['src', 'dev', 'test', 'bench', 'release', 'packages/client/src', 'packages/console/src']) {
    test(`there is none in ${folder}`, () => {
      const files = globSync(`${folder}/**/*.{ts,tsx}`, { cwd: root })
      assert.ok(files.length > 2)
      assert.equal(findCycle(graphOf(files, (file) => readFileSync(join(root, file), 'utf8')))?.join('\n→ '), undefined)
    })
  }
})
