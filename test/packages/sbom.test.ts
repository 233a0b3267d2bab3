/** The bill of materials that is published with a release lists what an installation brings, and is the same for the same lockfile. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { projectRoot, serverManifest } from '../../release/manifest.ts'
import { sbomOfServer } from '../../release/sbom.ts'

type Locked = { packages: Record<string, { version?: string; dev?: boolean; optional?: boolean; link?: boolean; integrity?: string }> }

void test('release: the bill of materials lists every package of an installation with its digest, and nothing else', () => {
  const sbom = sbomOfServer()
  const { packages } = JSON.parse(readFileSync(join(projectRoot, 'package-lock.json'), 'utf8')) as Locked
  const installed = Object.entries(packages)
    .filter(([path, { dev, optional, link }]) => path.startsWith('node_modules/') && !dev && !optional && !link)
    .map(([path, { version }]) => `${path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)}@${version}`)
  const listed = sbom.components.map(({ name, version }) => `${name}@${version}`)
  assert.deepEqual([...new Set(listed)].toSorted(), [...new Set(installed)].toSorted())
  for (const [name, version] of Object.entries(serverManifest([]).dependencies ?? {}))
    assert.ok(listed.includes(`${name}@${version}`), name)
  for (const { name, hashes } of sbom.components)
    assert.ok(
      hashes?.some(({ alg, content }) => alg === 'SHA-512' && content.length === 128),
      name,
    )
  assert.deepEqual([sbom.metadata.component.name, sbom.metadata.component.version], ['turnkeep', serverManifest([])['version']])
  assert.deepEqual(sbomOfServer(), sbom)
  assert.doesNotMatch(JSON.stringify(sbom), new RegExp(`timestamp|serialNumber|${projectRoot}`))
})
