/**
 * The entry point of the `turnkeep` command, and the only file in src/cli/ that uses `process`. `serve` without arguments starts the
 * server directly: loading the definitions of all other commands would add 30 ms of CPU time to every start.
 */
const words = process.argv.slice(2)
if (words.length === 1 && words[0] === 'serve') {
  const { serve } = await import('../main.ts')
  await serve(process.env)
} else {
  const [{ startRun }, { runProgram }] = await Promise.all([import('./command-run.ts'), import('./program.ts')])
  const { env: environment, stdin, stdout, stderr } = process
  const run = startRun({
    environment,
    stdin,
    stdout,
    stderr,
    onInterrupt(listener) {
      process.once('SIGINT', listener)
      return () => process.off('SIGINT', listener)
    },
  })
  stdout.on('error', (error) => process.exit(run.whenOutputFails(error)))
  // If no one reads stderr, there is no one to report that to. The exit code is that of the command.
  stderr.on('error', () => undefined)
  const code = await runProgram(words, run)
  // A server that has started sets its own exit code.
  if (code !== 0) process.exitCode = code
}
