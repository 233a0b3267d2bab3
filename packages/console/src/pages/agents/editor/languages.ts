/** The names of the languages that the server supports. The server's type makes sure that none is missing. */
import type { Language } from '../../../api/types.ts'

const labels: Record<Language, string> = {
  none: 'No stemming',
  arabic: 'Arabic',
  armenian: 'Armenian',
  bulgarian: 'Bulgarian',
  danish: 'Danish',
  dutch: 'Dutch',
  english: 'English',
  finnish: 'Finnish',
  french: 'French',
  german: 'German',
  greek: 'Greek',
  hungarian: 'Hungarian',
  indian: 'Hindi',
  indonesian: 'Indonesian',
  irish: 'Irish',
  italian: 'Italian',
  lithuanian: 'Lithuanian',
  nepali: 'Nepali',
  norwegian: 'Norwegian',
  portuguese: 'Portuguese',
  romanian: 'Romanian',
  russian: 'Russian',
  sanskrit: 'Sanskrit',
  serbian: 'Serbian',
  spanish: 'Spanish',
  swedish: 'Swedish',
  tamil: 'Tamil',
  turkish: 'Turkish',
  ukrainian: 'Ukrainian',
}

export const languageOptions = Object.entries(labels).map(([value, label]) => ({ value, label }))
