/** The folder that becomes the package `@turnkeep/client`: what its manifest names of packages/client, as it was built, and the licence. */
import { cpSync, existsSync, globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { clientManifest, projectRoot } from './manifest.ts'

/** Creates `folder` from the client in `source`, replacing what it contains. Throws if the client is not built, or if a built file has no source. */
export function stageClient(folder: string, source = join(projectRoot, 'packages/client')): void {
  if (!existsSync(join(source, 'dist/client.js'))) throw new Error('the client is not built: npm run build --workspace packages/client')
  for (const file of globSync('**/*.{js,d.ts}', { cwd: join(source, 'dist') }))
    if (!existsSync(join(source, 'src', file.replace(/(?:\.d\.ts|\.js)$/, '.ts'))))
      throw new Error(`packages/client/dist/${file} has no source: remove packages/client/dist and build again`)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const manifest = clientManifest()
  for (const file of globSync(['README.md', ...(manifest['files'] as string[])], { cwd: source }))
    cpSync(join(source, file), join(folder, file))
  cpSync(join(projectRoot, 'LICENSE'), join(folder, 'LICENSE'))
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
}
