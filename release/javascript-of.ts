/**
 * The JavaScript of a source file, for a package: Node strips no types below node_modules. Types become blanks, so every line and column stays, and
 * a path that names a file of ours ends in `.js`. Nothing is guessed: what still names a `.ts` file in code is an error.
 */
import { existsSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'

// Ours are all in single quotes, as the formatter leaves them: imports, `import()`, and paths given to `new URL` or to a fork.
const quotedPath = /'([\w./-]+)\.ts'/g
const anyPath = /(['"`])[^'"`\s]*\.ts\1/
const isComment = (line: string): boolean => /^\s*(?:\/\/|\/\*|\*)/.test(line)

/** `path` is the file's own, absolute. Throws with file and line where a `.ts` path is left that a package would look for in vain. */
export function javascriptOf(text: string, path: string): string {
  const stripped = path.endsWith('.ts') ? withoutNewBlanks(stripTypeScriptTypes(text), text) : text
  const script = stripped.replace(quotedPath, (quoted, name: string) => (isOurs(`${name}.ts`, path) ? `'${name}.js'` : quoted))
  for (const [index, line] of script.split('\n').entries())
    if (!isComment(line) && anyPath.test(line)) throw new Error(`${path}:${index + 1} still names TypeScript: ${line.trim()}`)
  return script
}

const isOurs = (name: string, path: string): boolean => existsSync(join(dirname(path), name))

/** The blanks at the end of a line that types left behind. Those that were there before may belong to a text. */
function withoutNewBlanks(stripped: string, text: string): string {
  const before = text.split('\n')
  return stripped
    .split('\n')
    .map((line, index) => (before[index] === before[index]?.trimEnd() ? line.trimEnd() : line))
    .join('\n')
}

const imported = /^(?:(?:import|export|\}).*\bfrom|import) '([^'.][^']*)'|\b(?:import|part|load)\(['`]([^'`.][^'`]*)['`]/gm

/** The packages that a script loads by name, without Node's own. */
export function packagesOf(script: string): string[] {
  const names = [...script.matchAll(imported)].map(([, fromTop, late]) => fromTop ?? late!)
  return names.filter((name) => !name.startsWith('node:')).map(packageOf)
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}
