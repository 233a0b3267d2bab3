/** The languages that the server stems, as people read them; complete by the server's own type. */
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
