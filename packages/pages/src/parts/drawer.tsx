/** A panel beside the content, whose URL is that of the open row. */
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { useKeys } from '../keyboard.ts'
import { go } from '../router.ts'

interface DrawerProps {
  readonly title: ComponentChildren
  /** The URL without the drawer. */
  readonly closeHref: string
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

/** Takes the focus when it opens; the row that opened it gets it back. */
export function Drawer({ title, closeHref, actions, children }: DrawerProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  const id = useId()
  useEffect(() => {
    const opener = document.activeElement as HTMLElement | null
    const openerHref = opener?.getAttribute('href')
    heading.current?.focus({ preventScroll: true })
    return () => {
      const same = openerHref && document.querySelector<HTMLElement>(`main a[href="${openerHref}"]`)
      const target = opener?.isConnected ? opener : same
      if (target && target !== document.body) target.focus({ preventScroll: true })
    }
  }, [])
  useKeys([{ keys: 'Escape', label: 'Close the panel', run: () => go(closeHref) }])
  return (
    <aside class="drawer" aria-labelledby={id}>
      <div class="bar">
        <h2 id={id} ref={heading} tabIndex={-1}>
          {title}
        </h2>
        <div class="right acts">
          {actions}
          <a class="btn quiet tiny" href={closeHref}>
            Close <kbd>Esc</kbd>
          </a>
        </div>
      </div>
      {children}
    </aside>
  )
}
