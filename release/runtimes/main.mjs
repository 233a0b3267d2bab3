/** Where Node, Deno and Bun begin: the service is the one argument, as JSON; what the program saw is the one line of JSON that is printed. */
import { runProgram } from './program.mjs'

console.log(JSON.stringify(await runProgram(JSON.parse(process.argv[2]))))
