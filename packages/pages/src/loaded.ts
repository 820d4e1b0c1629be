/** Loads a GET for a component, keeps the last data, and repeats it on request. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { type ApiFailure, get, isSessionOver, sessionEpoch } from './api.ts'
import { every, nowMs } from './clock.ts'

export interface Loaded<T> {
  /** The last body; it stays while another is loaded. */
  readonly data: T | undefined
  readonly failure: ApiFailure | undefined
  readonly isLoading: boolean
  /** When `data` arrived. */
  readonly atMs: number | undefined
  readonly path: string | undefined
  reload(): void
  /** Replaces the data by a response of another request. */
  put(data: T): void
}

interface State<T> {
  readonly data?: T
  readonly failure?: ApiFailure
  readonly isLoading: boolean
  readonly atMs?: number
}

/**
 * Loads `path`, and again when it changes, when a session begins, and every `everyMs`. An undefined
 * path loads nothing.
 */
export function useLoaded<T>(
  path: string | undefined,
  { everyMs }: { readonly everyMs?: number | undefined } = {},
): Loaded<T> {
  const [state, setState] = useState<State<T>>({ isLoading: path !== undefined })
  const [round, setRound] = useState(0)
  const epoch = sessionEpoch.value
  const isBusy = useRef(false)
  const reload = useCallback(() => setRound((value) => value + 1), [])
  // `round` and `epoch` repeat the request.
  useEffect(() => {
    if (path === undefined) return
    const abort = new AbortController()
    isBusy.current = true
    setState(({ failure: _, ...rest }) => ({ ...rest, isLoading: true }))
    get<T>(path, { signal: abort.signal }).then(
      (data) => {
        isBusy.current = false
        setState({ data, isLoading: false, atMs: nowMs() })
      },
      (failure) => {
        if (abort.signal.aborted) return
        isBusy.current = false
        setState((last) => ({ ...last, failure, isLoading: false }))
      },
    )
    return () => abort.abort()
  }, [path, round, epoch])
  useEffect(() => {
    if (everyMs === undefined) return
    return every(everyMs, () => {
      if (!isBusy.current && !isSessionOver.value) reload()
    })
  }, [everyMs, reload])
  const put = useCallback((data: T) => setState({ data, isLoading: false, atMs: nowMs() }), [])
  const { data, failure, isLoading, atMs } = state
  return { data, failure, isLoading, atMs, path, reload, put }
}
