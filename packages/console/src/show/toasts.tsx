/** Short messages that confirm an action, at the bottom of the window. Each disappears after a few seconds; none is the only place of a fact. */
import { Button, CloseButton, Paper, Text } from '@mantine/core'
import { IconCheck } from '@tabler/icons-react'
import { createContext, useContext, useEffect, useState, useSyncExternalStore } from 'react'

/** `undo`: reverses the action that the text confirms, and says itself whether that succeeded. */
type Toast = { id: number; text: string; undo?: (() => void) | undefined }

// Long enough to read a short sentence twice, and to decide about it.
const shownForMs = 5_000
const shownWithUndoMs = 10_000
const maxShown = 3

export class ToastStore {
  #toasts: readonly Toast[] = []
  #nextId = 1
  readonly #listeners = new Set<() => void>()

  readonly show = (text: string, undo?: () => void): void =>
    this.#set([...this.#toasts, { id: this.#nextId++, text, undo }].slice(-maxShown))
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

const ToastContext = createContext<ToastStore['show']>(() => undefined)
export const ToastProvider = ToastContext.Provider
/** Shows a toast. A mutation with a fixed text has `meta.done` instead. */
export const useToast = (): ToastStore['show'] => useContext(ToastContext)

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

function OneToast({ toast: { id, text, undo }, hide }: { toast: Toast; hide: (id: number) => void }) {
  // It stays while the pointer or the focus is on it.
  const [isHeld, setHeld] = useState(false)
  useEffect(() => {
    if (isHeld) return
    const timer = setTimeout(() => hide(id), undo ? shownWithUndoMs : shownForMs)
    return () => clearTimeout(timer)
  }, [hide, id, isHeld, undo])
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
      {undo ? (
        <Button
          size="compact-sm"
          variant="default"
          onClick={() => {
            hide(id)
            undo()
          }}
        >
          Undo
        </Button>
      ) : null}
      <CloseButton size="sm" aria-label="Dismiss" onClick={() => hide(id)} />
    </Paper>
  )
}
