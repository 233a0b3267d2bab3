/**
 * `order.pipelining`: bounds what one connection can make this process do at once. Node parses everything that one read of a socket returns, which can be
 * thousands of pipelined requests, and calls the handler for each of them. With this limit at most `maxRunning` of them run, and the socket
 * is not read while others wait. Responses keep the order of their requests. A response counts until the system has taken its last byte, so a
 * client that does not read its responses makes no more than `maxRunning` of them.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** More than a client that uses pipelining has in progress. Most clients send one request at a time. */
// mutant: order.pipelining
const maxRunning = 8
/** Requests that arrived in the same read as a running one. A connection that sends more is closed: RFC 9112, 9.3.2 makes a client retry. */
const maxWaiting = 24

type Pipeline = { running: number; waiting: [IncomingMessage, ServerResponse][] }

/** Call it before other listeners for requests are added: they then see every request, including those that wait. */
export function limitPipelining(server: Server): void {
  const [handle, ...others] = server.listeners('request') as RequestListener[]
  if (!handle || others.length > 0) throw new Error('limitPipelining needs a server with exactly one listener for requests')
  const pipelines = new WeakMap<Socket, Pipeline>()

  function receive(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request
    // Requests that follow the one that was too many, in the same read.
    if (socket.destroyed) return
    let pipeline = pipelines.get(socket)
    if (!pipeline) pipelines.set(socket, (pipeline = { running: 0, waiting: [] }))
    if (pipeline.running < maxRunning) return run(pipeline, request, response)
    if (pipeline.waiting.length === maxWaiting) return void socket.destroy()
    pipeline.waiting.push([request, response])
    socket.pause()
  }

  function run(pipeline: Pipeline, request: IncomingMessage, response: ServerResponse): void {
    pipeline.running++
    // The only event that every response emits, even if the caller has disconnected.
    response.once('close', () => {
      pipeline.running--
      if (pipeline.waiting.length > 0) next(pipeline, request.socket)
    })
    handle!.call(server, request, response)
  }

  function next(pipeline: Pipeline, socket: Socket): void {
    const waiting = pipeline.waiting.shift()!
    if (socket.destroyed) return void (pipeline.waiting = [])
    if (pipeline.waiting.length === 0) socket.resume()
    run(pipeline, ...waiting)
  }

  server.off('request', handle).on('request', receive)
}
