/**
 * /console: the operator's page, from the files that the build left in packages/console/dist. A path is looked up among the names that lie there
 * and never put together into one. Nothing is read before somebody asks, and each file is read and compressed once. Surfaces, Addresses.
 */
import { readFile, readdir, stat } from 'node:fs/promises'
import { extname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'
import { sendFile, versionOf } from '../edge/served-file.ts'
import type { ServedFile } from '../edge/served-file.ts'

export type ConsoleFilesOptions = {
  /** Where the built page lies; absent: where `npm run build:console` puts it. */
  folder?: string | undefined
}

type Build = { madeAtMs: number; paths: ReadonlyMap<string, string>; files: Map<string, Promise<ServedFile>> }

const builtFolder = fileURLToPath(new URL('../../../packages/console/dist', import.meta.url))
const page = 'index.html'

// Nothing is loaded from anywhere else and nothing is sent there. Styles alone may stand in the page: its components write theirs so.
const securityHeaders = {
  'content-security-policy': [
    ["default-src 'none'", "script-src 'self'", "style-src 'self' 'unsafe-inline'", "img-src 'self' data:", "font-src 'self'"],
    ["connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
  ]
    .flat()
    .join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
}

// What a browser would not run or show under another name. The texts among them are worth compressing.
const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.txt': 'text/plain; charset=utf-8',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
}
const isText = (type: string): boolean => /^text\/|json|svg/.test(type)

const notBuilt = 'The console is not built. In the folder of Turnkeep: npm ci, or npm run build:console; then load this page again.\n'

export const consoleFiles: FastifyPluginAsync<ConsoleFilesOptions> = async (app, { folder = builtFolder }) => {
  let build: Build | undefined

  for (const path of ['/console', '/console/*'])
    app.get(path, { schema: { hide: true } }, (request, reply) => {
      const { '*': asked = '' } = request.params as { '*'?: string }
      // The page's own addresses have no extension, and its files have one.
      return extname(asked) === '' ? sendPage(request, reply) : sendAsset(request, reply, asked)
    })

  async function sendPage(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    // A browser asks each time and gets 304 while nothing has changed.
    const file = await fileOf(await lookAgain(), page)
    if (file) return sendFile(request, reply, file, { ...securityHeaders, 'cache-control': 'no-cache' })
    return reply
      .code(404)
      .headers({ ...securityHeaders, 'cache-control': 'no-store' })
      .type('text/plain; charset=utf-8')
      .send(notBuilt)
  }

  async function sendAsset(request: FastifyRequest, reply: FastifyReply, name: string): Promise<FastifyReply> {
    const file = (await fileOf(build, name)) ?? (await fileOf(await lookAgain(), name))
    if (!file) throw new ApiError('not_found')
    // Below assets/ the name holds a hash of the content.
    const cacheControl = name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache'
    return sendFile(request, reply, file, { ...securityHeaders, 'cache-control': cacheControl })
  }

  /** The build that lies there now; it may have been made anew beside a running server. */
  async function lookAgain(): Promise<Build | undefined> {
    const made = await stat(join(folder, page)).catch(() => undefined)
    if (made && build?.madeAtMs === made.mtimeMs) return build
    build = made && { madeAtMs: made.mtimeMs, paths: await listFiles(folder), files: new Map() }
    return build
  }
}

/** Every file below the folder, by its name in an address. */
async function listFiles(folder: string): Promise<Map<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  return new Map(paths.map((path) => [relative(folder, path).replaceAll('\\', '/'), path]))
}

async function fileOf(build: Build | undefined, name: string): Promise<ServedFile | undefined> {
  const path = build?.paths.get(name)
  if (!build || path === undefined) return undefined
  const reading = build.files.get(name) ?? read(path)
  build.files.set(name, reading)
  return reading.catch((error: NodeJS.ErrnoException) => {
    build.files.delete(name)
    // Built anew since it was listed.
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}

async function read(path: string): Promise<ServedFile> {
  const bytes = await readFile(path)
  const type = types[extname(path)] ?? 'application/octet-stream'
  return { type, bytes, gzipped: isText(type) ? await compress(bytes) : undefined, version: versionOf(bytes) }
}

// Beside the event loop: the page's script takes tens of milliseconds.
const compress = promisify(gzip)
