/** What an operator does beside the load: `turnkeep verify` and `turnkeep backup`, as processes of their own. No invariant may be broken in what they see. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Make, Making } from './making.ts'
import type { FaultName } from '../schedule.ts'

const command = fileURLToPath(new URL('../../../bin/turnkeep.js', import.meta.url))
// What takes a second; a database that was just killed may keep it waiting.
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
  // 2: no database could be read at that moment, which a fault beside it may do.
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
