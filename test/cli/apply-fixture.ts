/** The fixture of the `turnkeep apply` tests: a folder with a declaration, the real command, and the server's state afterwards. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand } from '../support/run-command.ts'
import type { Ran } from '../support/run-command.ts'
import { adminToken } from '../support/test-app.ts'
import type { Json, TestApp } from '../support/test-app.ts'

export class ApplyFixture {
  readonly folder = mkdtempSync(join(tmpdir(), 'turnkeep-apply-'))
  readonly app: TestApp

  constructor(app: TestApp) {
    this.app = app
  }

  /** Writes a file into this folder and returns its path. */
  write(name: string, text: string): string {
    const path = join(this.folder, name)
    writeFileSync(path, text)
    return path
  }

  environment(url = this.app.url): Record<string, string> {
    return { TURNKEEP_PUBLIC_URL: url, TURNKEEP_ADMIN_TOKEN: adminToken, TURNKEEP_DATA_DIR: this.folder }
  }

  /** Of `agents.yaml` in this folder. */
  apply(flags: string[] = [], environment: Record<string, string> = {}): Promise<Ran> {
    return runCommand(['apply', '-f', join(this.folder, 'agents.yaml'), ...flags], { ...this.environment(), ...environment })
  }

  /** The same with this declaration, which has to succeed. */
  async applied(declaration: string, ...flags: string[]): Promise<Ran> {
    this.write('agents.yaml', declaration)
    const ran = await this.apply(flags)
    assert.equal(ran.code, 0, ran.stderr)
    return ran
  }

  async list(path: string): Promise<Json[]> {
    return (await this.app.made('GET', `${path}?limit=100`)).data
  }

  /** The one with this name; fails the test if there is none, or more than one. */
  async one(path: string, name: string): Promise<Json> {
    const named = (await this.list(path)).filter((item) => [item['name'], item['title']].includes(name))
    assert.equal(named.length, 1, `${name}: ${named.length}`)
    return named[0]!
  }

  /** How much was ever written: changes, ledger entries, versions, documents' contents. */
  async traces(): Promise<Json> {
    const [row] = await this.app.query(`select (select count(*) from audit) as audit, (select count(*) from ledger) as ledger,
      (select count(*) from agent_versions) as versions, (select count(*) from contents) as contents,
      (select count(*) from api_keys) as keys`)
    return row as Json
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}
