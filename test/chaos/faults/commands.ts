/**
 * Commands of an operator during the load: `turnkeep verify` and `turnkeep backup`, as separate processes. They must find no violated
 * invariant.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Make, Making } from './making.ts'
import type { FaultName } from '../schedule.ts'

const command = fileURLToPath(new URL('../../../bin/turnkeep.js', import.meta.url))
// They take a second, but may wait for a database that was just killed.
const maxMs = 60_000

async function run({ testbed, signal }: Making, args: string[]): Promise<{ code: number | null; said: string }> {
  const env = { PATH: process.env['PATH'] ?? '', HOME: testbed.folder, ...testbed.storeEnv }
  const over = AbortSignal.any([signal, AbortSignal.timeout(maxMs)])
  const child = spawn(process.execPath, [testbed.program ?? command, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    signal: over,
    killSignal: 'SIGKILL',
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (piece: string) => (said += piece))
  child.on('error', () => undefined)
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, said }
}

const verify: Make = async (making) => {
  const { code, said } = await run(making, ['verify'])
  // 2: the database could not be read at that moment, because of another fault.
  if (code === 1) making.logWatch.add('verify', `verify beside the load: ${said}`)
  return undefined
}

const backup: Make = async (making) => {
  const file = join(making.testbed.folder, `backup-${making.fault.id}`)
  const { code, said } = await run(making, ['backup', file])
  if (code === 1) making.logWatch.add('verify', `backup beside the load: ${said}`)
  await rm(file, { force: true })
  return undefined
}

export const commands = { verify, backup } satisfies Partial<Record<FaultName, Make>>
