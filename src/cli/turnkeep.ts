/**
 * The commands, `npx turnkeep …`: names, options and exit codes. Each command's work is a file of its own, loaded when it is called, so that
 * none waits for another's modules. Exit codes: 0 done · 1 something is wrong with what was looked at · 2 it could not be done at all.
 */
import { Command } from 'commander'

const program = new Command('turnkeep')
  .description('Runs conversations with configured agents behind a REST API: every message answered once, stored once, charged once.')
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : 2))

program
  .command('serve')
  .description('run the server')
  .action(async () => {
    const { serve } = await import('../main.ts')
    await serve(process.env)
  })

program
  .command('verify')
  .description('check every invariant of the stored data, also beside a running server; exit 1 when one is broken')
  .option('--json', 'print JSON')
  .action(async (options: { json?: true }) => {
    const { verifyStore } = await import('./verify.ts')
    process.exitCode = await verifyStore(process.env, { json: options.json ?? false })
  })

program
  .command('config')
  .description('print every setting with its value, meaning and source')
  .option('--json', 'print JSON')
  .action(async (options: { json?: true }) => {
    const { printConfig } = await import('./print-config.ts')
    process.exitCode = printConfig(process.env, { json: options.json ?? false })
  })

await program.parseAsync()
