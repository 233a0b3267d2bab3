/** The command palette: one field that finds pages, things and actions. Arrow keys choose, Enter opens, Escape closes. */
import { Modal, Text, TextInput } from '@mantine/core'
import { IconSearch } from '@tabler/icons-react'
import { useEffect, useId, useRef, useState } from 'react'
import type { KeyboardEvent } from 'react'
import { useEntries } from './palette-entries.ts'
import type { Entry } from './palette-entries.ts'

type PaletteProps = { opened: boolean; onClose: () => void; onShortcuts: () => void; onSignOut: () => void }

export function Palette({ opened, onClose, onShortcuts, onSignOut }: PaletteProps) {
  const opener = useRef<Element>(null)
  useEffect(() => {
    if (opened) opener.current = document.activeElement
  }, [opened])
  // Not later: a page that is opened takes the focus, and a dialog returns it to what has it now.
  const close = (): void => {
    onClose()
    if (opener.current instanceof HTMLElement) opener.current.focus({ preventScroll: true })
  }
  return (
    <Modal
      opened={opened}
      onClose={close}
      returnFocus={false}
      withCloseButton={false}
      padding={0}
      size="lg"
      yOffset="12dvh"
      centered={false}
      attributes={{ content: { 'aria-label': 'Command palette' } }}
    >
      <Search
        actions={{ onShortcuts, onSignOut }}
        onRun={(entry) => {
          close()
          entry.run()
        }}
      />
    </Modal>
  )
}

type SearchProps = { actions: { onShortcuts: () => void; onSignOut: () => void }; onRun: (entry: Entry) => void }

/** Starts empty each time, because the dialog removes its content when it closes. */
function Search({ actions, onRun }: SearchProps) {
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const entries = useEntries(text, actions)
  const current = Math.min(chosen, entries.length - 1)
  const listId = useId()
  const press = (event: KeyboardEvent): void => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const entry = entries[current]
    if (move !== undefined) setChosen((current + move + entries.length) % entries.length)
    else if (event.key === 'Enter' && entry) onRun(entry)
    else return
    event.preventDefault()
  }
  return (
    <>
      <TextInput
        className="palette-field"
        variant="unstyled"
        size="lg"
        px="md"
        data-autofocus
        role="combobox"
        aria-label="Search pages, agents, owners, keys and IDs"
        aria-expanded="true"
        aria-controls={listId}
        aria-autocomplete="list"
        {...(current >= 0 ? { 'aria-activedescendant': `${listId}-${current}` } : {})}
        placeholder="Search, or paste an ID"
        leftSection={<IconSearch size={18} stroke={1.6} aria-hidden="true" />}
        value={text}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => {
          setText(event.currentTarget.value)
          setChosen(0)
        }}
        onKeyDown={press}
      />
      <Results listId={listId} entries={entries} current={current} onChoose={setChosen} onRun={onRun} />
    </>
  )
}

type ResultsProps = { listId: string; entries: Entry[]; current: number; onChoose: (index: number) => void; onRun: (entry: Entry) => void }

function Results({ listId, entries, current, onChoose, onRun }: ResultsProps) {
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' })
  }, [current, entries.length])
  const groups = [...new Set(entries.map(({ group }) => group))]
  return (
    <div ref={list} id={listId} role="listbox" aria-label="Results" className="palette-list">
      {groups.map((group) => (
        <div key={group} role="group" aria-label={group}>
          <Text size="xs" c="dimmed" fw={500} px="sm" pt="xs" pb={4} aria-hidden="true">
            {group}
          </Text>
          {entries.map((entry, index) =>
            entry.group === group ? (
              <Result
                key={entry.id}
                id={`${listId}-${index}`}
                entry={entry}
                selected={index === current}
                onHover={() => onChoose(index)}
                onRun={() => onRun(entry)}
              />
            ) : null,
          )}
        </div>
      ))}
    </div>
  )
}

type ResultProps = { id: string; entry: Entry; selected: boolean; onHover: () => void; onRun: () => void }

/** The field has the focus and chooses with the arrow keys; the pointer chooses here. */
function Result({ id, entry: { label, hint, icon: Icon }, selected, onHover, onRun }: ResultProps) {
  return (
    <button
      type="button"
      id={id}
      role="option"
      aria-selected={selected}
      tabIndex={-1}
      className="palette-option"
      onPointerMove={onHover}
      onClick={onRun}
    >
      <Icon size={17} stroke={1.6} aria-hidden="true" />
      <Text span size="sm" truncate className="as-name">
        {label}
      </Text>
      {hint ? (
        <Text span size="xs" c="dimmed" truncate ml="auto">
          {hint}
        </Text>
      ) : null}
    </button>
  )
}
