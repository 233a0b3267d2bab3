/**
 * `turnkeep operator recover`: makes a link with which whoever can use this machine becomes an admin, when no admin can sign in. The link is
 * signed with the encryption key (`operator.recovery`). The command needs neither the store nor a running server.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import type { CommandRun } from '../command-run.ts'
import { readConfig, settings } from '../../config/config.ts'
import type { Config } from '../../config/config.ts'
import { createSignedTokens } from '../../operators/signed-tokens.ts'
import { adminUrl } from '../admin-api/address.ts'
import { CommandFailed } from '../terminal/command-failed.ts'
import { helpEnd } from '../terminal/command-options.ts'
import { docPage } from '../terminal/doc-page.ts'
import { tell, write } from '../terminal/print.ts'

const validMinutes = 15
const recoveryPrefix = 'svc_recover_'

const needed = [
  settings.port,
  settings.host,
  settings.publicUrl,
  settings.adminPort,
  settings.adminHost,
  settings.consoleUrl,
  settings.dataFolder,
  settings.encryptionKeys,
]

export function define(group: Command, run: CommandRun): void {
  const command = group.command('recover').description('Make a link to become an admin again, on the machine of the server')
  helpEnd(command, 'operator recover')
    .option('--url <url>', 'Base URL of the console in the link')
    .option('--json', 'Print JSON')
    .action((options: { url?: string; json?: true }) => recover(run, options))
}

async function recover(run: CommandRun, { url, json }: { url?: string; json?: true }): Promise<void> {
  const outcome = readConfig(Object.fromEntries(needed.map(({ name }) => [name, run.environment[name]])))
  if (outcome.kind === 'problems') throw new CommandFailed(2, outcome.problems.join('\nturnkeep: '))
  const { config } = outcome
  const base = url === undefined && config.consoleUrl !== undefined ? config.consoleUrl : adminUrl(config, url)
  // The server compares this time with its own clock.
  const expiresAt = Date.now() + validMinutes * 60 * 1000
  const token = recoveryPrefix + createSignedTokens(keysOf(config)).sign('recovery', expiresAt)
  const link = `${base}/console/recovery#${token}`
  if (json) return write(run, `${JSON.stringify({ recovery_url: link, expires_at: new Date(expiresAt).toISOString() }, null, 2)}\n`)
  await write(run, `${link}\n`)
  tell(
    run,
    [
      `Open this link within ${validMinutes} minutes; it is accepted once. Enter your email address and a new password there.`,
      'The operator with this address, or a new one, becomes an active admin without restrictions. Its passkeys, its',
      'company account and its sessions are removed. If the console is at another address, give it with --url.',
      `More: ${docPage('docs/operate/sign-in.md')}`,
    ].join('\n'),
  )
}

/** Throws CommandFailed with code 2 if there is no key. */
function keysOf({ encryptionKeys, dataFolder }: Config): Uint8Array[] {
  if (encryptionKeys) return encryptionKeys
  const path = join(dataFolder, settings.encryptionKeys.file)
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    const why =
      code === 'ENOENT' || code === 'ENOTDIR'
        ? 'run this with the environment of the server: TURNKEEP_DATA_DIR or TURNKEEP_ENCRYPTION_KEY'
        : 'run this as the user of the server'
    throw new CommandFailed(2, `cannot read the encryption key in ${path} (${code}): ${why}`)
  }
  const keys = settings.encryptionKeys.read(text)
  if (!keys) throw new CommandFailed(2, `${path} does not contain a 32-byte key in base64`)
  return keys
}
