/**
 * `npm test -- --changed`: the test files that a change can affect, nearest first. A test reaches a changed file by the paths that are
 * written in it and in the files it names; a test that lists files by a pattern may read any file. Other ways are not seen, such as a path
 * that is put together from pieces, so this never replaces a whole run.
 */
import { changedSince, mergeBase } from '../mutants/git.ts'
import { SourceGraph } from '../mutants/source-graph.ts'
import type { Pass } from './failed.ts'

const folders = ['src', 'test', 'bin', 'docs', 'dev', 'bench', 'release', 'clients', 'deploy', 'packages/*/src', 'packages/*/test']
// Tests use these as built, so no path leads to their sources: the word is in every file that uses the built form.
const built = [
  { source: 'packages/client/src/', word: '@turnkeep/client' },
  { source: 'packages/console/', word: 'builtConsole' },
]
const listsFiles = /\bglobSync\(|\bls-files\b/

export type Affected = {
  passes: Pass[]
  /** What is left out, and why. */
  lines: string[]
}

/** Chooses from the passes and orders their files. Throws if git cannot list the changes. */
export function affectedBy(root: string, ref: string, passes: Pass[]): Affected {
  const changed = changedSince(root, mergeBase(root, ref))
  const graph = new SourceGraph(root, folders, { fromRoot: true })
  const users = built.flatMap(({ source, word }) => (changed.some((file) => file.startsWith(source)) ? graph.mentioning(word) : []))
  const distances = graph.distances([...changed, ...users])
  // Any test may use any dependency.
  const isEverything = changed.includes('package-lock.json')
  const distanceOf = (file: string): number | undefined =>
    distances.get(file) ?? (isEverything || (changed.length > 0 && listsFiles.test(graph.text(file))) ? Number.MAX_SAFE_INTEGER : undefined)
  const chosen = passes.map((pass) => ({
    ...pass,
    files: pass.files.filter((file) => distanceOf(file) !== undefined).toSorted((a, b) => distanceOf(a)! - distanceOf(b)!),
  }))
  const count = (of: Pass[]): number => of.reduce((sum, { files }) => sum + files.length, 0)
  return {
    passes: chosen.filter(({ files }) => files.length > 0),
    lines: [
      `changed since ${ref}: ${changed.length === 1 ? '1 file' : `${changed.length} files`}`,
      ...(changed.length === 0 ? [] : leftOut(count(chosen), count(passes))),
      ...unreached(graph, changed, isEverything),
    ],
  }
}

function leftOut(chosen: number, all: number): string[] {
  if (chosen === all) return [`the change can affect all ${all} test files: all of them run, the nearest first`]
  return [
    `${chosen} of ${all} test files run, the nearest to the change first`,
    `${all - chosen} of ${all} test files are left out: no path in them, or in the files they name, leads to a changed file. CI runs all of them.`,
  ]
}

/** The changed files that affect no test in a way that is seen here. */
function unreached(graph: SourceGraph, changed: string[], isEverything: boolean): string[] {
  const isTest = (file: string): boolean => file.endsWith('.test.ts')
  const silent = isEverything
    ? []
    : changed.filter((file) => !built.some(({ source }) => file.startsWith(source)) && ![...graph.distances([file]).keys()].some(isTest))
  const shown = silent.slice(0, 5).join(', ')
  return silent.length === 0 ? [] : [`no path in a test leads to ${shown}${silent.length > 5 ? ` and ${silent.length - 5} others` : ''}`]
}
