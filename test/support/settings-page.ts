/** Generates docs/operate/settings.md from config.ts. */
import { settings } from '../../src/config/config.ts'
import type { Setting } from '../../src/config/setting.ts'

const head = `# Settings

All settings are environment variables. An empty value counts as not set. An unknown name that starts with \`TURNKEEP_\`,
or an invalid value, stops the start with one line and exit code 2. \`npx --no-install turnkeep config\` shows the current values with
their sources and descriptions; it never shows secrets.

This page is generated from \`src/config/config.ts\` by \`node test/docs.test.ts --update-golden\`.

| setting | default | accepted values | description |
|---|---|---|---|
`

export function settingsPage(): string {
  return head + Object.values<Setting<unknown>>(settings).map(row).join('')
}

const row = ({ name, initial, accepted, meaning, file }: Setting<unknown>): string =>
  `| \`${name}\` | ${initial ? `\`${initial}\`` : file ? `generated, in \`${file}\`` : 'not set'} | ${cell(accepted)} | ${cell(meaning)} |\n`

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<ms>', '`<ms>`')
