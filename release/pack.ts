/**
 * `npm run pack`: the two packages as npm publishes them, in artifacts/packages/*.tgz, what is in them, and the list of what they bring (*.cdx.json). The same sources give the same bytes.
 * Builds nothing: the npm script builds the console and the client first.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { projectRoot } from './manifest.ts'
import { writeSbom } from './sbom.ts'
import { stageClient } from './stage-client.ts'
import { stageServer } from './stage-server.ts'

export type Packed = {
  name: string
  version: string
  /** Absolute. */
  tarball: string
  folder: string
  files: { path: string; size: number; mode: number }[]
  packedBytes: number
  unpackedBytes: number
  sha256: string
}

/** Into `folder`: a staging folder and a tarball. */
export function packServer(folder: string): Packed {
  stageServer(join(folder, 'turnkeep'))
  return pack(folder, 'turnkeep')
}

/** Into `folder`: a staging folder and a tarball. */
export function packClient(folder: string): Packed {
  stageClient(join(folder, 'client'))
  return pack(folder, 'client')
}

type NpmAnswer = { name: string; version: string; filename: string; files: Packed['files']; size: number; unpackedSize: number }

function pack(folder: string, staged: string): Packed {
  const words = ['pack', join(folder, staged), '--pack-destination', folder, '--json', '--ignore-scripts', '--loglevel=error']
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  const printed = execFileSync(npm, words, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  const [answer] = Object.values(JSON.parse(printed) as Record<string, NpmAnswer>) as [NpmAnswer]
  const tarball = join(folder, answer.filename.replace('@', '').replace('/', '-'))
  return {
    name: answer.name,
    version: answer.version,
    tarball,
    folder: join(folder, staged),
    files: answer.files,
    packedBytes: answer.size,
    unpackedBytes: answer.unpackedSize,
    sha256: sha256Of(tarball),
  }
}

const sha256Of = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex')
const kilobytes = (bytes: number): string => `${(bytes / 1000).toFixed(1)} kB`

function describe({ name, version, tarball, files, packedBytes, unpackedBytes, sha256 }: Packed): string {
  const largest = files.toSorted((one, other) => other.size - one.size).slice(0, 5)
  return [
    `${name} ${version}: ${files.length} files, ${kilobytes(packedBytes)} packed, ${kilobytes(unpackedBytes)} unpacked`,
    `  ${tarball}`,
    `  sha256 ${sha256}`,
    ...largest.map(({ path, size }) => `  ${kilobytes(size).padStart(10)}  ${path}`),
  ].join('\n')
}

if (import.meta.main) {
  const folder = join(projectRoot, 'artifacts/packages')
  const server = packServer(folder)
  console.log(`${describe(server)}\n\n${describe(packClient(folder))}`)
  const sbom = server.tarball.replace(/\.tgz$/, '.cdx.json')
  writeSbom(sbom)
  console.log(`\n${sbom}\n  sha256 ${sha256Of(sbom)}`)
}
