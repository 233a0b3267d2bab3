// Builds dist: the compiler, and after it what it leaves undone. In declarations the imports would still name the .ts files of src, and what an
// older src made would be packed.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('.', import.meta.url))
// By its package: on Windows the command on the PATH is no program that can be started without a shell.
const compiler = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')))
const { status } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' })
if (status !== 0) process.exit(status ?? 1)

const dist = `${root}dist/`
for (const file of readdirSync(dist)) {
  if (!existsSync(`${root}src/${file.replace(/(\.d)?\.[jt]s$/, '.ts')}`)) rmSync(`${dist}${file}`)
  else if (file.endsWith('.d.ts'))
    writeFileSync(`${dist}${file}`, readFileSync(`${dist}${file}`, 'utf8').replace(/( from '\.\/[^']+)\.ts'/g, "$1.js'"))
}
