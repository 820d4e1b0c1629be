/** The way to the other mode from a list without rows, if that mode has some. */
import { count } from '../format.ts'
import type { CursorPage } from '../list-page.ts'
import { useLoaded } from '../loaded.ts'
import { type Mode, mode, modeWord, scopeHref } from './scope.ts'

interface OtherModeProps {
  /** Returns the path of the same list in the other mode. */
  readonly pathOf: (other: Mode) => string
  /** The name of a row: `key`. */
  readonly noun: string
}

export function OtherMode({ pathOf, noun }: OtherModeProps) {
  const other: Mode = mode.value === 'live' ? 'test' : 'live'
  const page = useLoaded<CursorPage<unknown>>(pathOf(other)).data
  if (!page?.data.length) return null
  return (
    <p>
      <a href={scopeHref({ mode: modeWord(other) })}>
        {page.has_more && 'More than '}
        {count(page.data.length, noun)} in {other} mode
      </a>
    </p>
  )
}
