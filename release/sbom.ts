/**
 * The software bill of materials of the package `turnkeep`, in CycloneDX: every package that an installation brings, with version, licence and digest, as
 * in the lockfile. The same lockfile gives the same bytes. The client has no dependencies, so it needs none of its own.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { projectRoot, serverManifest } from './manifest.ts'

type Component = { name: string; version: string; purl: string; hashes?: { alg: string; content: string }[] }
export type Sbom = { metadata: { component: Component; timestamp?: string }; components: Component[]; serialNumber?: string }

type Lock = { packages: Record<string, { dev?: boolean; optional?: boolean; link?: boolean }>; [field: string]: unknown }

/**
 * What npm lists for the lockfile reduced to what an installation brings: npm's own options for that also leave out packages that a tool of
 * this repository uses too.
 */
export function sbomOfServer(): Sbom {
  const folder = mkdtempSync(join(tmpdir(), 'turnkeep-sbom-'))
  try {
    const manifest = serverManifest([])
    const lock = JSON.parse(readFileSync(join(projectRoot, 'package-lock.json'), 'utf8')) as Lock
    const kept = Object.entries(lock.packages).filter(
      ([path, { dev, optional, link }]) => path.startsWith('node_modules/') && !dev && !optional && !link,
    )
    write(join(folder, 'package.json'), manifest)
    write(join(folder, 'package-lock.json'), { ...lock, packages: { '': manifest, ...Object.fromEntries(kept) } })
    const words = ['sbom', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only', '--loglevel=error']
    const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
    const printed = execFileSync(npm, words, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
    const { serialNumber: _, metadata, ...rest } = JSON.parse(printed) as Sbom
    const { timestamp: __, component, ...said } = metadata
    // npm takes the name from the folder.
    return { ...rest, metadata: { ...said, component: { ...component, name: manifest.name } } }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const write = (path: string, value: unknown): void => writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`)

export const writeSbom = (path: string): void => write(path, sbomOfServer())
