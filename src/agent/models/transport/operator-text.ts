/** A provider's own words on a failure, fit for the operator's log: one line, short, without the API key. They never reach a caller. */

// A provider's error message is one or two sentences.
const shownCharacters = 500

export function operatorText(text: string, secret: string): string {
  const shown = secret === '' ? text : text.replaceAll(secret, '[api key]')
  return shown
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, shownCharacters)
    .toWellFormed()
}
