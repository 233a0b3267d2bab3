/**
 * How many questions find their passage by words, in nine languages, on both stores. Prints the table; with `--missed`, the questions too.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openOwnStore } from '../support/own-store.ts'
import { languages, measureRecall } from './search/recall.ts'

// Both stores rank a few passages differently.
const minFound: Record<keyof typeof languages, number> = {
  english: 27,
  german: 28,
  turkish: 26,
  korean: 27,
  japanese: 27,
  thai: 27,
  arabic: 26,
  hebrew: 29,
  chinese: 27,
}

void test('knowledge: recall@5 by words in nine languages', async (t) => {
  const store = await openOwnStore(t)
  for (const language of Object.keys(languages) as (keyof typeof languages)[]) {
    const { passages, questions, found, missed } = await measureRecall(store, language)
    const share = ((100 * found) / questions).toFixed(1)
    t.diagnostic(`${language}: ${found} of ${questions} questions over ${passages} passages, ${share} %`)
    assert.ok(found >= minFound[language], `${language}: ${missed.join(' | ')}`)
    if (process.argv.includes('--missed')) for (const question of missed) t.diagnostic(`  missed: ${question}`)
  }
})
