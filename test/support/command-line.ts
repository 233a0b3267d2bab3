/** What `npm run bench`, `chaos` and `simulate` share: `--help` ends with 0, and bad options with 2 and one line, before anything starts. */

/** The options are wrong; the message says why. */
export class BadOptions extends Error {}

/** `command`: its name for `npm run`. Other errors than BadOptions are thrown. */
export async function runCommand(command: string, usage: string, run: (args: string[]) => Promise<void>): Promise<void> {
  const args = process.argv.slice(2)
  if (args.includes('--help')) return console.log(usage)
  try {
    await run(args)
  } catch (error) {
    if (!(error instanceof BadOptions)) throw error
    console.error(`${error.message}. Run npm run ${command} -- --help.`)
    process.exitCode = 2
  }
}
