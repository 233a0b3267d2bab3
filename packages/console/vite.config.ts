/** Builds the page into dist/, which the server serves at /console (src/http/console/files.ts). Nothing is inlined: the page's policy forbids it. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import type { Plugin } from 'vite'

/** The font's license requires that its text is beside every copy of the font. */
const fontLicense: Plugin = {
  name: 'font-license',
  apply: 'build',
  generateBundle() {
    const source = readFileSync(createRequire(import.meta.url).resolve('@fontsource-variable/inter/LICENSE'))
    this.emitFile({ type: 'asset', fileName: 'assets/inter-license.txt', source })
  },
}

// eslint-disable-next-line import/no-default-export -- Vite reads this one.
export default defineConfig({
  base: '/console/',
  plugins: [react(), fontLicense],
  build: {
    outDir: 'dist',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The sources are open; a map would double what is served.
    sourcemap: false,
    reportCompressedSize: false,
  },
})
