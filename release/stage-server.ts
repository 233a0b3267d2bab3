/**
 * The folder that becomes the package `turnkeep`: laid out as the repository is, so that every path between its files holds, with JavaScript in the
 * place of TypeScript and the built console. No test, no tool, no Node. docs/decisions/0028-packages.md.
 */
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { javascriptOf, packagesOf } from './javascript-of.ts'
import { projectRoot, serverManifest } from './manifest.ts'

// The commands read streams with the client's code.
const scripts = ['bin/*.js', 'src/**/*.ts', 'packages/client/src/*.ts']
// The server reads docs/errors; the rest is for whoever runs it. Decisions, measurements and pictures stay in the repository.
const asTheyAre = [
  'LICENSE',
  'README.md',
  'CHANGELOG.md',
  'bin/package.json',
  'src/**/*.{js,css,svg,sql,md,html,json,bcmap}',
  'src/**/LICENSE',
  'docs/*.md',
  'docs/{errors,operate}/*.md',
  'deploy/{turnkeep.service,nginx.conf}',
  'packages/console/dist/**/*.*',
]
const files = ['bin', 'src', 'docs', 'deploy', 'packages/console/dist', 'packages/client/src', 'CHANGELOG.md']

/** Creates `folder`, replacing what it contains. Throws if the console is not built, or if a script imports a package that the manifest does not list. */
export function stageServer(folder: string): void {
  if (!existsSync(join(projectRoot, 'packages/console/dist/index.html')))
    throw new Error('the console is not built: npm run build:console, then pack again')
  rmSync(folder, { recursive: true, force: true })
  const manifest = serverManifest(files)
  const known = new Set(Object.keys(manifest.dependencies ?? {}))
  for (const file of found(scripts)) {
    const script = javascriptOf(readFileSync(join(projectRoot, file), 'utf8'), join(projectRoot, file))
    for (const name of packagesOf(script)) if (!known.has(name)) throw new Error(`${file} loads ${name}, which is no dependency`)
    write(join(folder, file.replace(/\.ts$/, '.js')), script)
  }
  for (const file of found(asTheyAre)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    cpSync(join(projectRoot, file), join(folder, file))
  }
  write(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
}

/** In one order on every machine. */
const found = (patterns: string[]): string[] => globSync(patterns, { cwd: projectRoot }).toSorted()

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}
