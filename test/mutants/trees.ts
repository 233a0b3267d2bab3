/** Creates copies of the source in which mutants are planted, and distributes the work among them. Never changes the source itself. */
import { cpSync, existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')
// The smallest machine has two cores, and tests wait for some of their time.
const workers = 3
const copied = ['src', 'test', 'bin', 'docs', 'packages/client/src', 'package.json', 'package-lock.json', 'tsconfig.json']

/** Creates one copy for each worker below the folder. Its `tmp` is for the files that its tests write. */
export function copyTrees(folder: string): string[] {
  return Array.from({ length: workers }, (_, at) => copyTree(join(folder, String(at))))
}

function copyTree(tree: string): string {
  mkdirSync(join(tree, 'tmp'), { recursive: true })
  for (const name of copied) cpSync(join(root, name), join(tree, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'))
  return tree
}

/**
 * The environment for the tests of a tree: a separate temporary folder, and Node's compile cache with paths relative to the tree, so that a
 * later tree can use what one tree compiled.
 */
export function environmentOf(tree: string): NodeJS.ProcessEnv {
  return { ...process.env, TMPDIR: join(tree, 'tmp'), NODE_COMPILE_CACHE: compiledOf(tree), NODE_COMPILE_CACHE_PORTABLE: '1' }
}

/**
 * Copies what earlier runs compiled into each tree. Node checks every entry against its source, so an outdated one only takes disk space.
 */
export function restoreCompiled(trees: string[], from: string): void {
  if (existsSync(from)) for (const tree of trees) cpSync(from, compiledOf(tree), { recursive: true })
}

/** Saves what the trees compiled for later runs. */
export function saveCompiled(trees: string[], to: string): void {
  for (const tree of trees) if (existsSync(compiledOf(tree))) cpSync(compiledOf(tree), to, { recursive: true })
}

const compiledOf = (tree: string): string => join(tree, 'compiled')

/** Each worker has its own tree and takes the next item when it is free. Returns the results in the order of the items. */
export async function share<Item, Result>(
  trees: string[],
  items: Item[],
  work: (tree: string, item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  const queue = items.entries()
  await Promise.all(
    trees.map(async (tree) => {
      for (const [index, item] of queue) results[index] = await work(tree, item)
    }),
  )
  return results
}
