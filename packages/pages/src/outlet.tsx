/** Displays the page of the current URL. The last page stays while the next one loads. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { pending } from './api.ts'
import { ownPath } from './mount-path.ts'
import { matchPath, type PageModule, type PageProps, type PageRow, place } from './router.ts'

interface Open {
  readonly row: PageRow
  readonly module: PageModule
}

const modules = new Map<PageRow, PageModule>()

async function loadModule(row: PageRow): Promise<PageModule> {
  const loaded = modules.get(row)
  if (loaded) return loaded
  pending.value++
  try {
    const module = await row.load()
    modules.set(row, module)
    return module
  } finally {
    pending.value--
  }
}

/** Returns the row and the parameters of a path. */
export function findPage<R extends PageRow>(rows: readonly R[], path: string) {
  for (const row of rows) {
    const params = matchPath(row.path, path)
    if (params) return { row, params }
  }
  return undefined
}

/** Loads the code of a page when the pointer is on its link. */
export function startPrefetch(rows: readonly PageRow[]): void {
  document.addEventListener('pointerover', (event) => {
    const link = (event.target as Element).closest?.('a[href]') as HTMLAnchorElement | null
    const page = link && link.origin === location.origin && findPage(rows, ownPath(link.pathname))
    if (page) loadModule(page.row).catch(() => undefined)
  })
}

interface OutletProps {
  readonly rows: readonly PageRow[]
  /** For a path without a page. */
  readonly fallback: ComponentChildren
}

export function Outlet({ rows, fallback }: OutletProps) {
  const [open, setOpen] = useState<Open>()
  const [isBroken, setBroken] = useState(false)
  const match = findPage(rows, place.value.path)
  const row = match?.row
  const isFirst = useRef(true)
  /** Those of the open page, which stays while another one loads. */
  const params = useRef<PageProps['params']>({})
  useEffect(() => {
    if (!row) return
    let isCurrent = true
    setBroken(false)
    loadModule(row).then(
      (module) => isCurrent && setOpen({ row, module }),
      () => isCurrent && setBroken(true),
    )
    return () => {
      isCurrent = false
    }
  }, [row])
  useEffect(() => {
    if (!open) return
    if (!isFirst.current) {
      scrollTo(0, 0)
      document.getElementById('main')?.focus({ preventScroll: true })
    }
    isFirst.current = false
  }, [open])
  if (!row) return <>{fallback}</>
  if (isBroken) return <Reload />
  if (!open) return null
  const { Page } = open.module
  if (open.row === row) params.current = match.params
  return <Page key={open.row.path} params={params.current} />
}

/** After an upgrade the server has other files than this page. */
const Reload = () => (
  <main id="main">
    <p>
      The server has a newer version of this page.{' '}
      <button type="button" class="link" onClick={() => location.reload()}>
        Load it
      </button>
    </p>
  </main>
)
