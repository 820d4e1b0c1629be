/** The palette of the console: pages, the theme, times, and results of `/admin/search`. */
import { ApiFailure, get } from '../api.ts'
import { nowMs } from '../clock.ts'
import { isoSecond } from '../format.ts'
import type { NavGroup } from '../parts/frame.tsx'
import { Palette, type PaletteEntry } from '../parts/palette.tsx'
import { say } from '../parts/toast.tsx'
import { go, href } from '../router.ts'
import { switchTheme } from '../theme.ts'
import { searchTextOf } from './key-names.ts'
import { pages } from './pages.ts'
import { typedTime } from './typed-time.ts'

interface SearchResult {
  readonly type: string
  readonly id: string
  readonly label: string
  readonly customer: string | null
  readonly mode: string | null
  readonly href: string
}

const keysOf = (label: string): string | undefined => {
  const key = pages.find((page) => page.label === label)?.key
  return key && `g ${key}`
}

const localEntries = (groups: readonly NavGroup[]): readonly PaletteEntry[] => [
  ...groups.flatMap(({ links }) =>
    links.map(({ label, href }) => {
      const keys = keysOf(label)
      return { id: `go-${href}`, kind: 'Go to', label, ...(keys && { keys }), run: () => go(href) }
    }),
  ),
  {
    id: 'theme',
    kind: 'Do',
    label: 'Change the theme',
    keys: 't',
    run: () => say(`Theme: ${switchTheme()}`),
  },
]

/** The page of an id by its prefix. */
const ID_PAGES: Readonly<Record<string, readonly [type: string, page: string]>> = {
  req: ['request', 'requests'],
  evt: ['event', 'events'],
  dlv: ['delivery', 'deliveries'],
  wh: ['webhook', 'webhooks'],
  job: ['job', 'jobs'],
  key: ['key', 'keys'],
  cus: ['customer', 'customers'],
  client: ['client', 'clients'],
}

/** An id opens its page also if the search does not return it. */
function entryOfId(text: string): readonly PaletteEntry[] {
  const [, prefix = ''] = /^([a-z]+)_[\w-]{6,64}$/.exec(text) ?? []
  const [type, page] = ID_PAGES[prefix] ?? []
  if (!type) return []
  const url = href(`/console/${page}/${text}`)
  return [{ id: `open-${text}`, kind: type, label: text, run: () => go(url) }]
}

/** Opens a result in its mode, of all customers; a result without a mode keeps that of the page. */
function openResult({ mode, href: url }: SearchResult): void {
  const words = mode === null ? {} : { mode: mode === 'live' ? undefined : mode }
  go(url.includes('?') ? url : href(url, { ...words, customer: undefined }))
}

const entryOf = (result: SearchResult): PaletteEntry => ({
  id: `${result.type}-${result.id}`,
  kind: result.type.replaceAll('_', ' '),
  label: result.label === result.id ? result.id : `${result.label} · ${result.id}`,
  run: () => openResult(result),
})

/** The requests of a time that is typed. */
function entriesOfTime(text: string): readonly PaletteEntry[] {
  const time = typedTime(text, nowMs())
  if (!time) return []
  const range = { from: isoSecond(time.fromMs), to: isoSecond(time.toMs) }
  const run = () => go(href('/console/requests', range))
  return [{ id: 'time', kind: 'Go to', label: time.label, run }]
}

async function search(text: string, signal: AbortSignal): Promise<readonly PaletteEntry[]> {
  const times = entriesOfTime(text)
  if (times.length > 0) return times
  try {
    const { data } = await get<{ data: SearchResult[] }>('/admin/search', {
      query: { q: searchTextOf(text) },
      signal,
    })
    return data.length > 0 ? data.map(entryOf) : entryOfId(text)
  } catch (error) {
    if (error instanceof ApiFailure) return entryOfId(text)
    throw error
  }
}

export const SearchPalette = ({ groups }: { readonly groups: readonly NavGroup[] }) => (
  <Palette entries={() => localEntries(groups)} search={search} />
)
