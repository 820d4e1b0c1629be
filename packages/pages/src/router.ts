/** Selects a page by the path, and keeps links inside the page: `history`, focus, title. */
import { computed, type ReadonlySignal, signal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { type Query, withQuery } from './api.ts'
import { mountedUrl, ownPath } from './mount-path.ts'

export interface PageProps {
  /** The parameters of the pattern; an absent optional one is undefined. */
  readonly params: Readonly<Record<string, string | undefined>>
}

export interface PageModule {
  readonly Page: ComponentType<PageProps>
}

export interface PageRow {
  /** `/console/requests/:id?`: a parameter ends with `?` if it is optional. */
  readonly path: string
  readonly load: () => Promise<PageModule>
}

const read = () => ({
  path: ownPath(location.pathname),
  query: new URLSearchParams(location.search),
  hash: location.hash,
})

export const place = signal(read())
export const query: ReadonlySignal<URLSearchParams> = computed(() => place.value.query)

/** Parameters that every link of these pages carries on. */
let sticky: readonly string[] = []
export const keepParameters = (names: readonly string[]): void => {
  sticky = names
}

/** Returns a URL of these pages with the scope of the current one. */
export function href(path: string, words: Query = {}): string {
  const scope = Object.fromEntries(sticky.map((name) => [name, place.value.query.get(name)]))
  return withQuery(path, { ...scope, ...words })
}

/** Returns a URL of these pages with the whole query of the current one. */
export const keepQuery = (path: string): string =>
  withQuery(path, Object.fromEntries(place.value.query))

/** Opens a URL of these pages. */
export function go(url: string, { replace = false } = {}): void {
  if (url === ownPath(location.pathname) + location.search + location.hash) return
  history[replace ? 'replaceState' : 'pushState'](null, '', mountedUrl(url))
  place.value = read()
}

/** Changes members of the query; undefined or '' removes a member. */
export function setQuery(words: Query, options?: { replace?: boolean }): void {
  const current = Object.fromEntries(place.value.query)
  go(withQuery(place.value.path, { ...current, ...words }), options)
}

/** Returns the parameters of a path, or undefined if it does not match the pattern. */
export function matchPath(pattern: string, path: string): PageProps['params'] | undefined {
  const names = pattern.split('/')
  const parts = path.replace(/\/$/, '').split('/')
  if (parts.length > names.length) return undefined
  const params: Record<string, string | undefined> = {}
  for (const [at, name] of names.entries()) {
    const part = parts[at]
    if (name.startsWith(':')) {
      const isOptional = name.endsWith('?')
      if (!part && !isOptional) return undefined
      params[name.slice(1, isOptional ? -1 : undefined)] = part && decodeURIComponent(part)
    } else if (name !== part) return undefined
  }
  return params
}

const isPlainClick = (event: MouseEvent): boolean =>
  event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey

/** Follows links below `base` without loading a document. */
export function startRouter(base: string): void {
  addEventListener('popstate', () => {
    place.value = read()
  })
  document.addEventListener('click', (event) => {
    const link = (event.target as Element).closest?.('a[href]') as HTMLAnchorElement | null
    if (!link || event.defaultPrevented || !isPlainClick(event) || link.target) return
    const { origin, search, hash } = link
    const pathname = ownPath(link.pathname)
    if (origin !== location.origin || !`${pathname}/`.startsWith(`${base}/`) || hash) return
    event.preventDefault()
    go(pathname + search)
  })
}

/** Removes the fragment from the address; no entry of the history has it. */
export const removeHash = (): void =>
  history.replaceState(null, '', location.pathname + location.search)
