// After `npm ci`: builds the page, with the Node that came with the dependencies. An install never fails for it, since the server runs without
// its page: what builds may be left out (--omit=dev), or not run on this machine. Then one line says so, and /console says what to do.
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('.', import.meta.url))
try {
  const { build } = await import('vite')
  await build({ root, logLevel: 'warn' })
} catch (error) {
  const reason = error.code === 'ERR_MODULE_NOT_FOUND' ? 'its tools are left out of this install' : String(error.message).split('\n')[0]
  console.log(`The console is not built: ${reason}. The server runs without it; npm run build:console builds it.`)
}
