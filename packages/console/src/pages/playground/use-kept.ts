/**
 * State that outlives the page: what a person has written is there again after a visit of another page. It is in the memory of the tab, and
 * forgotten with the session. Nothing is written to the browser's storage, because it may be text of an end user.
 */
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'

/** `initial` if nothing is kept. An empty text is not kept: a sent message is not a draft any more. */
export function useKept<Value>(key: string, initial: Value): [Value, (value: Value) => void] {
  const queries = useQueryClient()
  const queryKey = ['kept', key]
  const [value, setValue] = useState<Value>(() => queries.getQueryData<Value>(queryKey) ?? initial)
  return [
    value,
    (changed) => {
      setValue(changed)
      if (changed === '') return queries.removeQueries({ queryKey, exact: true })
      queries.setQueryDefaults(queryKey, { gcTime: Infinity })
      queries.setQueryData(queryKey, changed)
    },
  ]
}
