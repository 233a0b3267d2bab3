/** A short text with the occurrences of what was searched for marked. */
import { partsOf } from './find-text.ts'

export const Highlighted = ({ text, wanted }: { text: string; wanted: string }) =>
  partsOf(text, wanted).map(({ text: part, isFound, at }) =>
    isFound ? (
      <mark key={at} className="found">
        {part}
      </mark>
    ) : (
      part
    ),
  )
