/** Copies of the source in which faults are planted, and the work shared out among them. Touches nothing of the source itself. */
import { cpSync, mkdirSync, symlinkSync } from 'node:fs'
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
