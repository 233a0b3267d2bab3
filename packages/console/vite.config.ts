/** Builds the page into dist/, which the server serves at /console (src/http/console-files.ts). Nothing is inlined: the page's policy forbids it. */
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

// eslint-disable-next-line import/no-default-export -- Vite reads this one.
export default defineConfig({
  base: '/console/',
  plugins: [react()],
  build: {
    outDir: 'dist',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The sources are open; a map would double what is served.
    sourcemap: false,
    reportCompressedSize: false,
  },
  server: {
    // `npm run dev` here, beside a server on its usual port.
    proxy: { '/admin/v1': 'http://127.0.0.1:8080', '/readyz': 'http://127.0.0.1:8080', '/healthz': 'http://127.0.0.1:8080' },
  },
})
