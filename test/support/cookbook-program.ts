/**
 * A program of docs/cookbook as its reader has it: every file that the page shows, in a folder with the packages it names, started as a
 * process next to the real service that it calls. Nothing of the page is changed.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** The files of a page: blocks below a heading that is a file name, and blocks that name their file. */
function filesOf(page: string): Map<string, string> {
  const text = readFileSync(join(root, 'docs/cookbook', page), 'utf8')
  const files = new Map<string, string>()
  let heading = ''
  for (const [, title, named, block] of text.matchAll(
    /^## (.+)$|^```(?:(?:ts|python) no-run (\S+):[^\n]*|html|jsx?)\n([\s\S]*?)\n```$/gm,
  )) {
    if (title !== undefined) heading = title
    else if (named !== undefined) files.set(named, `${block}\n`)
    else if (/^[\w-]+\.(?:html|jsx?)$/.test(heading)) files.set(heading, `${block}\n`)
  }
  return files
}

/** The folder of a page's files, with `express`, `@turnkeep/client` and other packages as if they were installed. */
export function layOut(page: string, packages: readonly string[] = []): { folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-cookbook-'))
  for (const [name, text] of filesOf(page)) writeFileSync(join(folder, name), text)
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  mkdirSync(join(folder, 'node_modules/@turnkeep'), { recursive: true })
  symlinkSync(join(root, 'packages/client'), join(folder, 'node_modules/@turnkeep/client'))
  for (const name of ['express', ...packages]) {
    mkdirSync(dirname(join(folder, 'node_modules', name)), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
  }
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

export type Program = {
  url: string
  /** Its output so far. */
  readonly said: string
  kill(): Promise<void>
}

/** Resolves when it listens. Rejects with its output if it ends before. */
export async function startProgram(
  folder: string,
  file: string,
  environment: Record<string, string>,
  command = process.execPath,
): Promise<Program> {
  const env = { PATH: process.env['PATH'] ?? '', PORT: '0', ...environment }
  const child = spawn(command, [join(folder, file)], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (piece: string) => (said += piece))
  const ended = once(child, 'close').then(() => 'gone' as const)
  for (;;) {
    const url = /Listening on (http:\S+)\n/.exec(said)?.[1]
    if (url)
      return {
        url,
        get said() {
          return said
        },
        async kill() {
          child.kill('SIGKILL')
          await ended
        },
      }
    if ((await Promise.race([once(child.stdout, 'data'), ended])) === 'gone') throw new Error(`${file} ended:\n${said}`)
  }
}

/** Runs a program to its end. `killWhen` kills it when this promise resolves. */
export async function runProgram(
  folder: string,
  file: string,
  environment: Record<string, string>,
  killWhen?: Promise<unknown>,
): Promise<{ code: number | null; said: string }> {
  const env = { PATH: process.env['PATH'] ?? '', ...environment }
  const child = spawn(process.execPath, [join(folder, file)], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (piece: string) => (said += piece))
  void killWhen?.then(() => child.kill('SIGKILL'))
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, said }
}
