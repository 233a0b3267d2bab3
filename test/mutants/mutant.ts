/** A mutant as data: the change to plant into a copy of the source, and the test that must notice it. Never runs anything. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type Mutant = {
  /** The rule of docs/rules.md whose enforcement the mutant removes. The title of the test that notices it contains the name. */
  rule: string
  /** What is no longer guaranteed, as a short phrase without a full stop. */
  removes: string
  edits: Edit[]
  /** A test file below test/, and a part of the title of the one or few tests that must fail. */
  caughtBy: { file: string; title: string }
  /**
   * How the test notices: by an assertion unless set otherwise; `throws` if the code under it throws; `hang` if what it waits for never
   * happens.
   */
  symptom?: Symptom
}

export type Symptom = 'assertion' | 'throws' | 'hang'

/** Replaces one place in src/. places.ts finds it by what it says, whatever its file, layout and names. */
export type Edit = {
  /** The code of the place, in the names that it had when this was written. */
  find: string
  /** What is there instead. Names from `find` become those that the place has now. */
  replace: string
} & Where

/** What tells the place from others that resemble it. */
export type Where = {
  /** The place is the first one below a comment `mutant: NAME` with this name. */
  at?: string
  /** The start of the paths of files in which it may be. Only for migrations, which are the same on both stores and never move. */
  within?: string
}

/** Shorthand for one change. */
export const edit = (find: string, replace = '', where: Where = {}): Edit => ({ find, replace, ...where })

/** Writes the edited files of a mutant (places.ts) into the tree. Returns a function that removes the mutant. */
export function plant(files: ReadonlyMap<string, string>, tree: string): () => void {
  const before = [...files.keys()].map((file) => [file, readFileSync(join(tree, file), 'utf8')] as const)
  for (const [file, text] of files) writeFileSync(join(tree, file), text)
  return () => {
    for (const [file, text] of before) writeFileSync(join(tree, file), text)
  }
}
