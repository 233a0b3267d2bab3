/** `turnkeep config`: shows every setting with its current value, the source of that value and a description. Never shows a secret. */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import type { CommandRun, ExitCode } from '../command-run.ts'
import { initialOf, readConfig, settings } from '../../config/config.ts'
import type { Environment } from '../../config/config.ts'
import type { Setting } from '../../config/setting.ts'
import { helpEnd } from '../terminal/command-options.ts'
import { printLine, tell } from '../terminal/print.ts'

type Present = { name: string; value: string | null; source: 'environment' | 'default' | 'file' | 'not set'; meaning: string }

const exitCodes = 'Exit codes: 0  success\n            2  the server would not start with these settings'

export function define(command: Command, run: CommandRun): void {
  helpEnd(command, 'config', exitCodes)
    .option('--json', 'Print JSON')
    .action((options: { json?: true }) => {
      run.exitCode = printConfig(run, { json: options.json ?? false })
    })
}

/** Returns the exit code: 0, or 2 if the server would not start with this environment. */
function printConfig(run: CommandRun, { json }: { json: boolean }): ExitCode {
  const { environment } = run
  const outcome = readConfig(environment)
  const dataFolder = resolve(environment[settings.dataFolder.name] || settings.dataFolder.initial)
  const present = Object.values<Setting<unknown>>(settings).map((setting) => presentOf(setting, environment, dataFolder))
  if (json) {
    printLine(run, JSON.stringify({ settings: present, problems: outcome.kind === 'problems' ? outcome.problems : [] }, null, 2))
  } else {
    const width = Math.max(...present.map(({ name }) => name.length))
    for (const { name, value, source, meaning } of present) {
      printLine(run, `${name.padEnd(width)}  ${value === null ? '' : `${value || 'none'}  `}(${source})\n${' '.repeat(width)}  ${meaning}`)
    }
  }
  if (outcome.kind === 'config') return 0
  for (const problem of outcome.problems) tell(run, `turnkeep: ${problem}`)
  return 2
}

function presentOf(setting: Setting<unknown>, environment: Environment, dataFolder: string): Present {
  const { name, meaning, secret, shown, file } = setting
  const given = environment[name]
  if (given !== undefined && given !== '') {
    const value = shown ? shown(given) : secret ? '(hidden)' : given
    return { name, value, source: 'environment', meaning }
  }
  const path = file && join(dataFolder, file)
  if (path && existsSync(path)) return { name, value: path, source: 'file', meaning }
  const initial = initialOf(setting, environment)
  return initial === undefined ? { name, value: null, source: 'not set', meaning } : { name, value: initial, source: 'default', meaning }
}
