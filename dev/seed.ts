/**
 * `npm run seed`: thirty days of sample traffic, either on the server that `npm run dev` runs on the data folder, or in a new data folder.
 * Exit codes: 0 done · 1 failed · 2 wrong usage, or nothing to seed.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { readConfig } from '../src/config/config.ts'
import { holdClock } from './clock-socket.ts'
import type { HeldClock } from './clock-socket.ts'
import { AlreadySeeded, fill } from './seed/fill.ts'
import type { Filled } from './seed/fill.ts'
import { planTraffic } from './seed/plan.ts'
import { startServerProcess } from './server-process.ts'

const help = `Fill a development server with thirty days of sample traffic: three owners, five agents, about 600 turns\nwith feedback.

Usage: npm run seed -- [options]

  --seed N         Choose the data: the same number gives the same names, texts, amounts and counts (default 1)
  --url URL        Require that the server of the data folder has this address
  --data-dir DIR   Fill a new data folder without a running server, ready for npm start
  --help           Show this help

Without --data-dir the server must run already: start it with npm run dev. The data folder is that of TURNKEEP_DATA_DIR, by default ./.turnkeep.
`

const whatToDo = `Start the server with npm run dev, or run npm run seed -- --data-dir NEW_FOLDER, which fills a new folder and leaves it ready for npm start.`

function refuse(message: string): never {
  console.error(`seed: ${message}`)
  process.exit(2)
}

type Options = { seed: number; url: string | undefined; dataDir: string | undefined }

function readOptions(): Options {
  try {
    const { values } = parseArgs({
      options: {
        seed: { type: 'string', default: '1' },
        url: { type: 'string' },
        'data-dir': { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    })
    if (values.help) {
      process.stdout.write(help)
      process.exit(0)
    }
    if (!/^\d{1,9}$/.test(values.seed)) refuse(`--seed must be a whole number from 0 to 999999999, not "${values.seed}"`)
    if (values.url !== undefined && !URL.canParse(values.url)) refuse(`--url must be an address, not "${values.url}"`)
    if (values.url !== undefined && values['data-dir'] !== undefined) refuse('--url and --data-dir cannot be used together')
    return { seed: Number(values.seed), url: values.url, dataDir: values['data-dir'] }
  } catch (error) {
    return refuse(`${error instanceof Error ? error.message.split('. ')[0] : String(error)}. Run npm run seed -- --help.`)
  }
}

async function seedFolder(folder: string, seed: number): Promise<void> {
  if (existsSync(join(folder, 'turnkeep.db'))) refuse(`${folder} already has a database. Name a new folder.`)
  const environment = {
    ...process.env,
    TURNKEEP_DATA_DIR: folder,
    PORT: '0',
    TURNKEEP_ADMIN_PORT: '',
    DATABASE_URL: '',
    TURNKEEP_WORKERS: '',
  }
  const server = startServerProcess(environment)
  try {
    await server.ready
    const clock = await holdClock(folder)
    if (!clock) throw new Error(`the server on ${folder} does not answer`)
    await seedServer(clock, folder, seed)
  } finally {
    await server.stop()
  }
  console.log(`Start it with TURNKEEP_DATA_DIR=${folder} npm start. With npm run dev in place of npm start the sample agents answer too.`)
}

async function seedRunning({ seed, url }: Options): Promise<void> {
  const outcome = readConfig(process.env)
  if (outcome.kind === 'problems') return refuse(outcome.problems.join('\nseed: '))
  const { databaseUrl, dataFolder } = outcome.config
  if (databaseUrl !== undefined)
    refuse(
      'with PostgreSQL the clock belongs to the database, which is never moved. Fill a folder with --data-dir NEW_FOLDER, then copy it with npx --no-install turnkeep copy.',
    )
  const clock = await holdClock(dataFolder)
  if (!clock) return refuse(`no development server runs on ${dataFolder}. ${whatToDo}`)
  if (url !== undefined && ![clock.url, clock.adminUrl].includes(new URL(url).origin))
    refuse(
      `the development server on ${dataFolder} is at ${clock.url}, not at ${url}. Set TURNKEEP_DATA_DIR to the data folder of that server. ${whatToDo}`,
    )
  await seedServer(clock, dataFolder, seed)
  console.log(`Open ${clock.adminUrl}/console, or check what is stored with npx --no-install turnkeep verify.`)
}

async function seedServer(clock: HeldClock, folder: string, seed: number): Promise<void> {
  const adminToken = process.env['TURNKEEP_ADMIN_TOKEN'] || readFileSync(join(folder, 'admin.token'), 'utf8').trim()
  const startedAt = performance.now()
  try {
    const filled = await fill({ ...clock, adminToken }, planTraffic(seed), showDay)
    report(filled, seed, (performance.now() - startedAt) / 1000)
  } finally {
    clock.close()
  }
}

function showDay(daysLeft: number): void {
  if (process.stdout.isTTY) process.stdout.write(`\r${daysLeft === 0 ? 'Last hours' : `${daysLeft} days ago`}`.padEnd(16))
}

function report({ turns, owners, agents, documents, feedback }: Filled, seed: number, seconds: number): void {
  if (process.stdout.isTTY) process.stdout.write('\r')
  console.log(`Seed ${seed}: ${owners} owners, ${Object.keys(agents).length} agents, ${documents} documents, in ${seconds.toFixed(0)} s.
Turns: ${turns.completed} completed, ${turns.incomplete} incomplete, ${turns.failed} failed, ${turns.released} released, ${turns.cancelled} cancelled, ${turns.refused} refused; ${feedback} with feedback.`)
}

if (process.env['NODE_ENV'] === 'production') refuse('sample data is for development; NODE_ENV is production')
const options = readOptions()
try {
  await (options.dataDir === undefined ? seedRunning(options) : seedFolder(resolve(options.dataDir), options.seed))
} catch (error) {
  console.error(`seed: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = error instanceof AlreadySeeded ? 2 : 1
}
