/**
 * Where the command begins, and the only one of this room's files that reads the environment. `serve` alone goes straight to the server:
 * reading the words of all other commands would cost every start 30 ms of CPU.
 */
const words = process.argv.slice(2)
if (words.length === 1 && words[0] === 'serve') {
  const { serve } = await import('../main.ts')
  await serve(process.env)
} else {
  const { runProgram } = await import('./program.ts')
  await runProgram(process.argv, process.env)
}
