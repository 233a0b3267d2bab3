/** Copies of the source in which faults are planted, and the work shared out among them. Touches nothing of the source itself. */
import { cpSync, existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')
// Two cores are what the smallest machine has.
const workers = 2
const copied = ['src', 'test', 'bin', 'docs', 'package.json', 'package-lock.json', 'tsconfig.json']

/** One copy for each worker, below the folder; `tmp` in it is for what its tests write. */
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
 * The environment for the tests of a tree: a temporary folder of its own, and Node's compile cache with paths relative to the tree, so that
 * what one tree compiled serves another one later.
 */
export function environmentOf(tree: string): NodeJS.ProcessEnv {
  return { ...process.env, TMPDIR: join(tree, 'tmp'), NODE_COMPILE_CACHE: compiledOf(tree), NODE_COMPILE_CACHE_PORTABLE: '1' }
}

/** Gives each tree what earlier runs compiled. Node checks every entry against its source, so an outdated one costs nothing but its size. */
export function restoreCompiled(trees: string[], from: string): void {
  if (existsSync(from)) for (const tree of trees) cpSync(from, compiledOf(tree), { recursive: true })
}

/** Keeps what the trees compiled for later runs. */
export function saveCompiled(trees: string[], to: string): void {
  for (const tree of trees) if (existsSync(compiledOf(tree))) cpSync(compiledOf(tree), to, { recursive: true })
}

const compiledOf = (tree: string): string => join(tree, 'compiled')

/** Each worker has a tree of its own and takes what is next; answers in the items' order. */
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
