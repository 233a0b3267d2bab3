/** Runs of this visit that are not stored: a version or a draft of the agent (`rerun.harmless`). */
import { useEffect, useRef, useState } from 'react'
import { ApiFailure, segment } from '../../api/client.ts'
import { streamPreview } from '../../api/stream.ts'
import type { Preview } from '../../api/types.ts'
import { pacedText } from '../../show/paced-text.ts'
import type { Setting } from './settings.ts'

export type PreviewRun = {
  id: string
  message: string
  setting: Setting
  /** waiting: for the turn that it is compared with; lost: no response; refused: the server returned an error. */
  state: 'waiting' | 'running' | 'ended' | 'stopped' | 'lost' | 'refused'
  /** So far. */
  text: string
  preview: Preview | null
  failure: ApiFailure | null
  /** From sending to the response, in milliseconds. */
  tookMs: number | null
}

export type Previews = {
  all: PreviewRun[]
  running: boolean
  /** Adds one. It starts when `start` is called. */
  add(run: Pick<PreviewRun, 'id' | 'message' | 'setting'>): void
  /** `beforeTurn`: has the history of this turn. Otherwise that of the conversation. */
  start(run: Pick<PreviewRun, 'id' | 'message' | 'setting'>, beforeTurn?: string): void
  /** Ends all. The server ends them when their connection is closed. */
  stop(): void
}

export const isGoing = ({ state }: PreviewRun): boolean => state === 'waiting' || state === 'running'

export function usePreviews(agentId: string, externalUserId: string): Previews {
  const [all, setAll] = useState<PreviewRun[]>([])
  const running = useRef(new Map<string, AbortController>())
  useEffect(() => {
    const { current } = running
    return () => {
      for (const one of current.values()) one.abort()
    }
  }, [])
  const change = (id: string, changed: Partial<PreviewRun>): void =>
    setAll((before) => before.map((one) => (one.id === id ? { ...one, ...changed } : one)))

  async function run({ id, message, setting }: Pick<PreviewRun, 'id' | 'message' | 'setting'>, beforeTurn?: string): Promise<void> {
    if (running.current.has(id)) return
    const startedAt = performance.now()
    const stopping = new AbortController()
    running.current.set(id, stopping)
    change(id, { state: 'running', failure: null, preview: null, text: '' })
    const reply = pacedText((text) => change(id, { text }))
    try {
      const body = {
        message,
        ...(beforeTurn === undefined ? { external_user_id: externalUserId } : { before_turn: beforeTurn }),
        ...(setting.version === null ? {} : { version: setting.version }),
        overrides: setting.overrides,
      }
      const { signal } = stopping
      const preview = await streamPreview(`/agents/${segment(agentId)}/preview`, body, {
        signal,
        onText: reply.add,
        onReset: reply.restart,
      })
      reply.end()
      change(id, { state: 'ended', preview, text: preview.text, tookMs: Math.round(performance.now() - startedAt) })
    } catch (error) {
      const text = reply.end()
      if (stopping.signal.aborted) return change(id, { state: 'stopped', text })
      const failure = error instanceof ApiFailure ? error : null
      change(id, { state: failure && failure.status !== 0 ? 'refused' : 'lost', text, failure })
      if (!failure) throw error
    } finally {
      running.current.delete(id)
    }
  }

  return {
    all,
    running: all.some(isGoing),
    add: (added) => setAll((before) => [...before, { ...added, state: 'waiting', text: '', preview: null, failure: null, tookMs: null }]),
    start: (started, beforeTurn) => void run(started, beforeTurn),
    stop() {
      for (const one of running.current.values()) one.abort()
      setAll((before) => before.map((one) => (one.state === 'waiting' ? { ...one, state: 'stopped' } : one)))
    },
  }
}
