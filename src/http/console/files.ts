/**
 * Serves the console at /console from the files that the build wrote to packages/console/dist. A request path is looked up in the list of those
 * files and never becomes part of a file path. Files are read on the first request, and each is read and compressed once.
 */
import { readFile, readdir, stat } from 'node:fs/promises'
import { extname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'
import { compress, sendFile, versionOf } from '../edge/served-file.ts'
import type { ServedFile } from '../edge/served-file.ts'

export type ConsoleFilesOptions = {
  /** Folder of the built console. Default: the output of `npm run build:console`. */
  folder?: string | undefined
}

type Build = { madeAtMs: number; paths: ReadonlyMap<string, string>; files: Map<string, Promise<ServedFile>> }

const builtFolder = fileURLToPath(new URL('../../../packages/console/dist', import.meta.url))
const page = 'index.html'

// Nothing is loaded from or sent to other origins. Only styles may be inline, because UI components set them.
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

// The media types that browsers need. Text is compressed.
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

const notBuilt = 'The console is not built. Run npm run build:console in the Turnkeep folder, then reload this page.\n'

export const consoleFiles: FastifyPluginAsync<ConsoleFilesOptions> = async (app, { folder = builtFolder }) => {
  let build: Build | undefined

  for (const path of ['/console', '/console/*'])
    app.get(path, { schema: { hide: true } }, (request, reply) => {
      const { '*': asked = '' } = request.params as { '*'?: string }
      // Pages of the console have no extension, its files do.
      return extname(asked) === '' ? sendPage(request, reply) : sendAsset(request, reply, asked)
    })

  async function sendPage(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    // The browser revalidates each time and gets 304 while the page is unchanged.
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
    // File names in assets/ contain a hash of the content.
    const cacheControl = name.startsWith('assets/') ? 'public, max-age=31536000, immutable' : 'no-cache'
    return sendFile(request, reply, file, { ...securityHeaders, 'cache-control': cacheControl })
  }

  /** Returns the current build, which may have changed while the server runs. */
  async function lookAgain(): Promise<Build | undefined> {
    const made = await stat(join(folder, page)).catch(() => undefined)
    if (made && build?.madeAtMs === made.mtimeMs) return build
    build = made && { madeAtMs: made.mtimeMs, paths: await listFiles(folder), files: new Map() }
    return build
  }
}

/** Lists every file below the folder, by its path in a URL. */
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
    // The console was rebuilt after the files were listed.
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}

async function read(path: string): Promise<ServedFile> {
  const bytes = await readFile(path)
  const type = types[extname(path)] ?? 'application/octet-stream'
  return { type, bytes, gzipped: isText(type) ? await compress(bytes) : undefined, version: versionOf(bytes) }
}
