/** How long the HTTP layer waits, in milliseconds, with the reason for each value. */

export type HttpTimes = typeof defaultTimes
export const defaultTimes = {
  // `fault.slow-requests`: no normal caller needs longer for a few hundred bytes of headers, or for 1 MiB.
  headersMs: 10_000,
  requestMs: 30_000,
  // 20 MiB at half a megabit per second, for the admin routes that receive a file.
  uploadMs: 300_000,
  // Longer than the usual 60 s of load balancers, so that they close idle connections first.
  keepAliveMs: 75_000,
  // Longer than the 110 s of a turn, during which no data moves on the connection of a waiting caller.
  idleMs: 150_000,
  // `stream.established` and `stream.slow-reader`.
  heartbeatMs: 15_000,
  stallMs: 30_000,
  // Half a megabit per second, as for uploads.
  minBytesPerSecond: 64 * 1024,
  // `mcp.progress`: a client shows it to a person, and gives up on a call after 60 s without it.
  progressMs: 2_000,
}
