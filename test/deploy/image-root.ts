/**
 * The file tree that deploy/Dockerfile creates, and a server that runs in it as in a container: a separate file system that is read-only
 * from its root on, process 1 of its own pid namespace, the image's user and only the image's environment. Created with unshare, mount and
 * chroot, since a container engine is not available everywhere. The packages are those of this working copy that `npm ci --omit=dev
 * --omit=optional` would install, and the console is the one that was built in it.
 */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { copiesOf, environmentOf, readDockerfile, valuesOf } from './dockerfile.ts'
import type { Stage } from './dockerfile.ts'

const project = join(import.meta.dirname, '../..')
const readText = (file: string): string => readFileSync(join(project, file), 'utf8')
export const { args, stages } = readDockerfile(readText('deploy/Dockerfile'))
export const [page, build, image] = stages as [Stage, Stage, Stage]
export const imageUser = Number(valuesOf(image, 'USER').at(-1)!.split(':')[0])

/** Why no such root can be created here, or false. */
export const withoutRoot = (): string | false => {
  if (process.getuid?.() !== 0) return 'needs root, to mount and to change the user'
  const missing = ['unshare', 'chroot', 'mount'].filter((program) => spawnSync(program, ['--version']).error)
  return missing.length > 0 && `needs ${missing.join(', ')}: apt-get install util-linux coreutils`
}

export type ImageRoot = {
  path: string
  /** The size that the image adds to its base. */
  appBytes: number
  run(t: TestContext, environment: Record<string, string>, options?: { dataFolder?: boolean }): Promise<Running>
  remove(): void
}
export type Running = {
  url: string
  /** Process 1 of the container, by its pid on the host. */
  pid: number
  log(): string
  /** SIGTERM to process 1; the exit code. */
  stop(): Promise<number | null>
}

export function makeImageRoot(): ImageRoot {
  const path = mkdtempSync(join(tmpdir(), 'turnkeep-image-'))
  chmodSync(path, 0o755)
  for (const folder of ['app', 'data', 'proc', 'dev', 'usr']) mkdirSync(join(path, folder))
  for (const folder of ['lib', 'lib64']) symlinkSync(`usr/${folder}`, join(path, folder))
  writeFileSync(join(path, 'node'), '')
  chownSync(join(path, 'data'), imageUser, imageUser)
  const app = join(path, 'app')
  for (const stage of [build, image])
    for (const { sources, target, from } of copiesOf(stage)) {
      if (from === 'build') continue
      // The result of the console's stage is already here from npm ci.
      for (const source of sources.map((one) => one.replace(/^\/app\//, '')))
        cpSync(join(project, source), join(app, target, sources.length > 1 || target.endsWith('/') ? source.split('/').at(-1)! : ''), {
          recursive: true,
        })
    }
  // One process: there are some thousand files.
  succeed('cp', ['-a', '--parents', '-t', app, ...installed()])
  fillCompileCache(app)
  const appBytes = Number(spawnSync('du', ['-sb', app], { encoding: 'utf8' }).stdout.split('\t')[0])
  return {
    path,
    appBytes,
    run: (t, environment, options) => run(t, path, environment, options),
    remove: () => rmSync(path, { recursive: true, force: true }),
  }
}

/** Folders of the packages that are neither for development nor optional. */
function installed(): string[] {
  const lock = JSON.parse(readText('package-lock.json')) as {
    packages: Record<string, { dev?: true; optional?: true; devOptional?: true }>
  }
  return Object.entries(lock.packages)
    .filter(([folder, { dev, optional, devOptional }]) => folder.startsWith('node_modules/') && !dev && !optional && !devOptional)
    .map(([folder]) => folder)
}

/** As the Dockerfile does it. */
function fillCompileCache(app: string): void {
  const cache = join(app, 'node_modules/.cache/turnkeep')
  mkdirSync(cache, { recursive: true })
  chownSync(cache, imageUser, imageUser)
  const filled = spawnSync(process.execPath, ['deploy/fill-compile-cache.js'], {
    cwd: app,
    uid: imageUser,
    gid: imageUser,
    env: { PATH: dirname(process.execPath) },
    encoding: 'utf8',
  })
  assert.equal(filled.status, 0, filled.stderr)
  succeed('chown', ['-R', '0:0', cache])
  succeed('chmod', ['-R', 'a+rX', cache])
}

function succeed(program: string, words: string[]): void {
  const { status, stderr } = spawnSync(program, words, { cwd: project, encoding: 'utf8' })
  assert.equal(status, 0, stderr)
}

async function run(t: TestContext, root: string, environment: Record<string, string>, { dataFolder = false } = {}): Promise<Running> {
  const env = { PATH: '/usr/local/bin:/usr/bin', ...environmentOf(image), ...environment }
  const command = [...(JSON.parse(valuesOf(image, 'ENTRYPOINT')[0]!) as string[]), ...(JSON.parse(valuesOf(image, 'CMD')[0]!) as string[])]
  assert.equal(command.shift(), 'node')
  const data = mkdtempSync(join(tmpdir(), 'turnkeep-volume-'))
  chownSync(data, imageUser, imageUser)
  const script = `set -e
    mount --bind "$1" "$1"
    mount --bind /usr "$1/usr"
    mount --bind "$2" "$1/node"
    mount --bind /dev "$1/dev"
    mount -t proc proc "$1/proc"
    for place in "$1/usr" "$1/node" "$1"; do mount -o remount,bind,ro "$place"; done
    if [ "$4" = true ]; then mount --bind "$3" "$1/data"; fi
    root="$1"; shift 4
    exec chroot --userspec=${imageUser}:${imageUser} --groups=${imageUser} "$root" /usr/bin/env -i "$@"`
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  const child = spawn(
    'unshare',
    [
      '--mount',
      '--pid',
      '--fork',
      'sh',
      '-c',
      script,
      'sh',
      root,
      process.execPath,
      data,
      String(dataFolder),
      ...variables,
      '/node',
      ...command,
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  let log = ''
  for (const output of [child.stdout, child.stderr]) output.setEncoding('utf8').on('data', (piece: string) => (log += piece))
  const ended = once(child, 'close')
  t.after(async () => {
    // Not unshare: its child changes its user, and then outlives it.
    for (const pid of childrenOf(child.pid!)) process.kill(pid, 'SIGKILL')
    await ended
    rmSync(data, { recursive: true, force: true })
  })
  const url = await listening(child, () => log)
  const [pid] = childrenOf(child.pid!) as [number]
  return {
    url,
    pid,
    log: () => log,
    async stop() {
      process.kill(pid, 'SIGTERM')
      return (await ended)[0] as number | null
    },
  }
}

/** Undefined if the process has ended. */
function childrenOf(pid: number): number[] {
  const list = `/proc/${pid}/task/${pid}/children`
  return existsSync(list) ? readFileSync(list, 'utf8').trim().split(' ').filter(Boolean).map(Number) : []
}

async function listening(child: ChildProcess, log: () => string): Promise<string> {
  const gone = once(child, 'close').then(() => 'gone')
  for (;;) {
    const url = /"url":"([^"]+)".*"msg":"listening"/.exec(log())?.[1]
    if (url !== undefined) return url
    if ((await Promise.race([once(child.stderr!, 'data'), gone])) === 'gone') throw new Error(`it ended before it listened:\n${log()}`)
  }
}
