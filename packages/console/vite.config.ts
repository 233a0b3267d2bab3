/** Builds the page into dist/, which the server serves at /console (src/http/console/files.ts). Nothing is inlined: the page's policy forbids it. */
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
})
