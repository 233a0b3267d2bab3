/** Short messages that confirm an action, at the bottom of the window. Each disappears after a few seconds; none is the only place of a fact. */
import { CloseButton, Paper, Text } from '@mantine/core'
import { IconCheck } from '@tabler/icons-react'
import { useEffect, useState, useSyncExternalStore } from 'react'

type Toast = { id: number; text: string }

// Long enough to read a short sentence twice.
const shownForMs = 5_000
const maxShown = 3

export class ToastStore {
  #toasts: readonly Toast[] = []
  #nextId = 1
  readonly #listeners = new Set<() => void>()

  readonly show = (text: string): void => this.#set([...this.#toasts, { id: this.#nextId++, text }].slice(-maxShown))
  readonly hide = (id: number): void => this.#set(this.#toasts.filter((toast) => toast.id !== id))
  readonly read = (): readonly Toast[] => this.#toasts
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #set(toasts: readonly Toast[]): void {
    this.#toasts = toasts
    for (const listener of this.#listeners) listener()
  }
}

export function Toasts({ store }: { store: ToastStore }) {
  const toasts = useSyncExternalStore(store.subscribe, store.read)
  return (
    <div className="toasts" role="status" aria-live="polite">
      {toasts.map((toast) => (
        <OneToast key={toast.id} toast={toast} hide={store.hide} />
      ))}
    </div>
  )
}

function OneToast({ toast: { id, text }, hide }: { toast: Toast; hide: (id: number) => void }) {
  // It stays while the pointer or the focus is on it.
  const [isHeld, setHeld] = useState(false)
  useEffect(() => {
    if (isHeld) return
    const timer = setTimeout(() => hide(id), shownForMs)
    return () => clearTimeout(timer)
  }, [hide, id, isHeld])
  return (
    <Paper
      withBorder
      shadow="md"
      className="toast"
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
    >
      <IconCheck size={16} stroke={2} aria-hidden="true" />
      <Text size="sm">{text}</Text>
      <CloseButton size="sm" aria-label="Dismiss" onClick={() => hide(id)} />
    </Paper>
  )
}
