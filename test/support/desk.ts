/**
 * Where the documents' commands are run: a folder of its own with a demo server's data in it, and that server, a real process. The addresses,
 * paths and ids that the documents show are replaced by those that are there; `npx turnkeep` is this repository's.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { startServer } from './server-process.ts'
import type { ServerProcess } from './server-process.ts'

const root = join(import.meta.dirname, '../..')

export type How = 'run' | 'stopped' | 'no-run'
export type Block = { text: string; how: How; reason: string }
export type Snippet = { language: string; text: string; reason: string | undefined }

/** The fenced blocks of \`sh\` in Markdown, in order. */
export function blocksOf(markdown: string): Block[] {
  return [...markdown.matchAll(/^```sh(?: (.*))?\n([\s\S]*?)\n```$/gm)].map(([, info = '', text]) => {
    const [how, ...reason] = info.split(' ')
    if (how !== '' && how !== 'stopped' && (how !== 'no-run' || reason.length === 0)) throw new Error(`a block says "sh ${info}"`)
    return { text: text!, how: how === '' ? 'run' : (how as How), reason: reason.join(' ') }
  })
}

/** What /docs shows to copy; what is no program (JSON, events, headers) is left out. */
export function snippetsOfPage(page: string): Snippet[] {
  return [...page.matchAll(/<pre([^>]*)data-language="(sh|typescript|python)"([^>]*)><code>([\s\S]*?)<\/code>/g)].map(
    ([, , language, rest, markup]) => ({
      language: language!,
      text: markup!.replace(/<[^>]+>/g, '').replace(/&(?:#39|\w+);/g, (entity) => characters[entity]!),
      reason: /data-not-run="([^"]*)"/.exec(rest!)?.[1],
    }),
  )
}

const characters: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" }

export class Desk {
  readonly folder: string
  /** Of the demo. */
  agentId = ''
  server: ServerProcess | undefined

  constructor(folder: string) {
    this.folder = folder
  }

  static async open(): Promise<Desk> {
    const desk = new Desk(mkdtempSync(join(tmpdir(), 'turnkeep-docs-')))
    const bin = join(desk.folder, 'bin')
    mkdirSync(bin)
    // What the documents show as a success is one: an error's status is a failure here, where a reader would see its text.
    const curl =
      '#!/bin/sh\nPATH=${PATH#*:}\ncase " $* " in *" --fail"*) exec curl "$@" ;; *) exec curl --fail --silent --show-error "$@" ;; esac\n'
    writeFileSync(join(bin, 'curl'), curl, { mode: 0o755 })
    writeFileSync(
      join(bin, 'npx'),
      `#!/bin/sh\n[ "$1" = turnkeep ] && shift && exec "${process.execPath}" "${join(root, 'bin/turnkeep.js')}" "$@"\nexit 99\n`,
      { mode: 0o755 },
    )
    await desk.start()
    const headers = { authorization: `Bearer ${readFileSync(join(desk.folder, '.turnkeep/admin.token'), 'utf8').trim()}` }
    const { data } = (await (await fetch(`${desk.url}/admin/v1/agents`, { headers })).json()) as { data: { id: string }[] }
    desk.agentId = data[0]!.id
    return desk
  }

  get url(): string {
    return this.server!.url
  }

  get apiKey(): string {
    return readFileSync(join(this.folder, '.turnkeep/demo.key'), 'utf8').trim()
  }

  /** Answers what it printed; rejects with all it said where it ends with another code than 0. */
  async run(language: string, text: string, how: How, variables: Record<string, string> = {}): Promise<string> {
    if (how === 'stopped') await this.server!.stop()
    const { url } = this
    const code = text
      .replaceAll('http://127.0.0.1:8080', url)
      .replaceAll('tcp:8080', `tcp:${new URL(url).port}`)
      .replaceAll('/home/you/turnkeep/.turnkeep', join(this.folder, '.turnkeep'))
      .replace(/agt_(?:[0-9a-z]{26}|…)/g, this.agentId)
    try {
      const { stdout } = await promisify(execFile)(...this.#command(language, code), {
        cwd: this.folder,
        timeout: 30_000,
        env: this.#environment(variables),
      })
      return stdout
    } catch (error) {
      throw new Error(`this failed:\n${code}\n${error instanceof Error && 'stderr' in error ? `${String(error.stderr)}` : ''}`, {
        cause: error,
      })
    } finally {
      if (how === 'stopped') await this.start()
    }
  }

  /** One message to the demo agent, and the variables that the samples of /docs take. */
  async converse(): Promise<Record<string, string>> {
    const response = await fetch(`${this.url}/v1/agents/${this.agentId}/chat`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.apiKey}`, 'idempotency-key': 'desk', 'content-type': 'application/json' },
      body: JSON.stringify({ external_user_id: 'desk', message: 'What is billed?' }),
    })
    const { conversation_id: conversationId } = (await response.json()) as { conversation_id: string }
    return { AGENT_ID: this.agentId, API_KEY: this.apiKey, CONVERSATION_ID: conversationId }
  }

  async start(): Promise<void> {
    this.server = await startServer({ TURNKEEP_DATA_DIR: join(this.folder, '.turnkeep') })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server!.kill()
    rmSync(this.folder, { recursive: true, force: true })
  }

  #command(language: string, code: string): [program: string, args: string[]] {
    // A command that fails within a pipe or before the last line is a failure too.
    if (language === 'sh') return ['bash', ['-euo', 'pipefail', '-c', code]]
    if (language === 'python') return ['python3', ['-c', code]]
    const file = join(this.folder, 'snippet.mts')
    writeFileSync(file, code)
    return [process.execPath, [file]]
  }

  #environment(variables: Record<string, string>): Record<string, string> {
    const path = [join(this.folder, 'bin'), dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter)
    return { PATH: path, HOME: this.folder, PORT: new URL(this.url).port, ...variables }
  }
}
