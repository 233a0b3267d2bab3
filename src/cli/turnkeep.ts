/**
 * The entry point of the `turnkeep` command, and the only file in src/cli/ that reads `process.env`. `serve` without arguments starts the
 * server directly: loading the definitions of all other commands would add 30 ms of CPU time to every start.
 */
const words = process.argv.slice(2)
if (words.length === 1 && words[0] === 'serve') {
  const { serve } = await import('../main.ts')
  await serve(process.env)
} else {
  const { runProgram } = await import('./program.ts')
  await runProgram(process.argv, process.env)
}
