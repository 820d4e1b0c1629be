/** The operations on rows, whose code is loaded when an operator opens the first one. */
import { lazy } from '../../lazy.tsx'

const load = () => import('./row-operations.tsx')

export const { Lazy: CreateRow, prefetch: prefetchOperations } = lazy(
  async () => (await load()).CreateRow,
)
export const { Lazy: EditRow } = lazy(async () => (await load()).EditRow)
export const { Lazy: DeleteRow } = lazy(async () => (await load()).DeleteRow)
export const { Lazy: RunAction } = lazy(async () => (await load()).RunAction)
