/** Where workerd begins: the service is the body of the request, as JSON; what the program saw is the answer. */
import { runProgram } from './program.mjs'

// eslint-disable-next-line import/no-default-export -- A worker's entry is this one.
export default {
  async fetch(request) {
    try {
      return Response.json(await runProgram(await request.json()))
    } catch (error) {
      return new Response(String(error?.stack ?? error), { status: 500 })
    }
  },
}
