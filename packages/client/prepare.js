// After `npm ci`: builds the client into dist/, which whoever imports `@turnkeep/client` in this working copy reads. An install never fails for
// it, since the server runs without: the compiler may be left out (--omit=dev), or not run on this machine. Then one line says so.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const built = spawnSync(process.execPath, [fileURLToPath(new URL('build.js', import.meta.url))], { encoding: 'utf8' })
if (built.status !== 0) {
  const said = `${built.stdout}${built.stderr}`
  const reason = said.includes('ERR_MODULE_NOT_FOUND') ? 'its compiler is left out of this install' : said.trim().split('\n')[0]
  console.log(`The client is not built: ${reason}. The server runs without it; npm run build:client builds it.`)
}
