/** Makes a provider's error message safe for the operator: one short line without the API key. These messages never reach a caller. */

// A provider's error message usually has one or two sentences.
const shownCharacters = 500

export function operatorText(text: string, secret: string): string {
  const shown = secret === '' ? text : text.replaceAll(secret, '[api key]')
  return shown
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, shownCharacters)
    .toWellFormed()
}
