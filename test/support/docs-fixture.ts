/**
 * The environment in which the programs of the documents are run: a separate folder with the data of a demo server, and that server as a
 * real process, which is restarted on its port when a program kills it. The URLs, paths and ids in the documents are replaced by the real
 * ones; `npx --no-install turnkeep` and the clients are those of this repository.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { How } from './document-blocks.ts'
import { startServer } from './server-process.ts'
import type { ServerProcess } from './server-process.ts'

const root = join(import.meta.dirname, '../..')

export type Snippet = { language: string; text: string; reason: string | undefined }

/** The programs that /docs shows, without other code blocks (JSON, events, headers). */
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

export class DocsFixture {
  readonly folder: string
  /** Of the demo. */
  agentId = ''
  url = ''
  #server: ServerProcess | undefined
  /** Resolves when the server that a program has killed is running again. */
  #back = Promise.resolve()

  constructor(folder: string) {
    this.folder = folder
  }

  static async open(): Promise<DocsFixture> {
    const desk = new DocsFixture(mkdtempSync(join(tmpdir(), 'turnkeep-docs-')))
    mkdirSync(desk.#bin)
    // A program that the documents show as successful must succeed: an HTTP error is a failure here, although curl would only print its
    // text.
    desk.#program(
      'curl',
      'PATH=${PATH#*:}\ncase " $* " in *" --fail"*) exec curl "$@" ;; *) exec curl --fail --silent --show-error "$@" ;; esac',
    )
    desk.#program(
      'npx',
      `[ "$1 $2" = "--no-install turnkeep" ] && shift 2 && exec "${process.execPath}" "${join(root, 'bin/turnkeep.js')}" "$@"\nexit 99`,
    )
    mkdirSync(join(desk.folder, 'node_modules/@turnkeep'), { recursive: true })
    symlinkSync(join(root, 'packages/client'), join(desk.folder, 'node_modules/@turnkeep/client'))
    for (const name of clients) {
      mkdirSync(join(desk.folder, 'node_modules', dirname(name)), { recursive: true })
      symlinkSync(join(root, 'node_modules', name), join(desk.folder, 'node_modules', name))
    }
    await desk.start()
    const headers = { authorization: `Bearer ${readFileSync(join(desk.folder, '.turnkeep/admin.token'), 'utf8').trim()}` }
    const { data } = (await (await fetch(`${desk.url}/admin/v1/agents`, { headers })).json()) as { data: { id: string }[] }
    desk.agentId = data[0]!.id
    return desk
  }

  get apiKey(): string {
    return readFileSync(join(this.folder, '.turnkeep/demo.key'), 'utf8').trim()
  }

  /** Returns what it printed. Rejects with all of its output if it fails. */
  async run(language: string, text: string, how: How, variables: Record<string, string> = {}): Promise<string> {
    await this.#back
    if (how === 'stopped') await this.#take().stop()
    const code = this.#asHere(text)
    try {
      const { stdout, stderr } = await promisify(execFile)(...this.#command(language, code), {
        cwd: this.folder,
        timeout: 120_000,
        env: this.#environment(variables),
      })
      if (how === 'fails') throw new Error(`this should have failed:\n${code}\n${stdout}${stderr}`)
      return this.#asShown(stdout)
    } catch (error) {
      if (how === 'fails' && isOutput(error)) return this.#asShown(error.stdout)
      throw new Error(`this failed:\n${code}\n${isOutput(error) ? error.stdout + error.stderr : ''}`, { cause: error })
    } finally {
      if (how === 'stopped') await this.start()
    }
  }

  /** One message to the demo agent, and the variables that the samples of /docs use. */
  async converse(): Promise<Record<string, string>> {
    const response = await fetch(`${this.url}/v1/agents/${this.agentId}/chat`, {
      method: 'POST',
      headers: { authorization: `Bearer ${this.apiKey}`, 'idempotency-key': 'desk', 'content-type': 'application/json' },
      body: JSON.stringify({ external_user_id: 'desk', message: 'What is billed?' }),
    })
    const { conversation_id: conversationId, request_id: requestId } = (await response.json()) as Record<string, string>
    return { CONVERSATION_ID: conversationId!, REQUEST_ID: requestId!, LAST_EVENT_ID: '0-0' }
  }

  /** On its previous port, if it had one. */
  async start(): Promise<void> {
    const port = this.url === '' ? '0' : new URL(this.url).port
    const server = await startServer({
      TURNKEEP_DATA_DIR: join(this.folder, '.turnkeep'),
      PORT: port,
      // The turn that a document cancels lasts for several seconds, so that it still runs then on a busy machine.
      TURNKEEP_FAILPOINTS: 'model.delta=delay:100 if:Tell me about keys',
    })
    this.url = server.url
    this.#server = server
    void server.exited.then(() => {
      if (this.#server === server) this.#back = this.start()
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#back
    await this.#take().kill()
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** The server is not restarted from now on when it ends. */
  #take(): ServerProcess {
    const server = this.#server!
    this.#server = undefined
    return server
  }

  get #bin(): string {
    return join(this.folder, 'bin')
  }

  #program(name: string, text: string): void {
    writeFileSync(join(this.#bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  }

  #asHere(text: string): string {
    return text
      .replaceAll(shownUrl, this.url)
      .replaceAll('tcp:8080', `tcp:${new URL(this.url).port}`)
      .replaceAll(`${shownFolder}/.turnkeep`, join(this.folder, '.turnkeep'))
      .replaceAll(shownFolder, root)
      .replace(/agt_(?:[0-9a-z]{26}|…)/g, this.agentId)
  }

  #asShown(text: string): string {
    return text.replaceAll(this.url, shownUrl).replaceAll(join(this.folder, '.turnkeep'), `${shownFolder}/.turnkeep`)
  }

  #command(language: string, code: string): [program: string, args: string[]] {
    // A command that fails within a pipe or before the last line is a failure too. Without --norc, bash takes a piped input for a remote
    // login.
    if (language === 'sh') return ['bash', ['--norc', '-euo', 'pipefail', '-c', code]]
    if (language === 'python') return ['python3', ['-c', code]]
    const file = join(this.folder, 'snippet.mts')
    writeFileSync(file, code)
    return [process.execPath, [file]]
  }

  #environment(variables: Record<string, string>): Record<string, string> {
    const path = [this.#bin, dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter)
    const reader = { AGENT_ID: this.agentId, API_KEY: this.apiKey, PORT: new URL(this.url).port }
    return {
      PATH: path,
      HOME: this.folder,
      PYTHONPATH: join(root, 'clients/python'),
      PYTHONDONTWRITEBYTECODE: '1',
      // Not every program compiles the clients again.
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
      ...reader,
      ...variables,
    }
  }
}

// What docs/openai.md imports besides. Each package by itself: npm, which some documents run here, empties a scope that is a link.
const clients = ['openai', 'ai', '@ai-sdk/openai', '@langchain/openai']

// The names that the documents use for the reader's server and folder.
const shownUrl = 'http://127.0.0.1:8080'
const shownFolder = '/home/you/turnkeep'

const isOutput = (error: unknown): error is Error & { stdout: string; stderr: string } =>
  error instanceof Error && 'stdout' in error && 'stderr' in error
