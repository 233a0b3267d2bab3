/** Server, client, Python module and images have the same version, in every place that `npm run release:version` writes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { projectRoot, readManifest } from '../../release/manifest.ts'
import { readVersions } from '../../release/versions.ts'

void test('packages: every place names the same version', () => {
  const { version } = readManifest(projectRoot)
  assert.deepEqual(
    readVersions().filter((place) => place.version !== version),
    [],
  )
})
