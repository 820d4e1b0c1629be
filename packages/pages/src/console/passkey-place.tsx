/** Passkeys belong to a host name: a page at another address names the right one. */
import type { ComponentChildren } from 'preact'
import { hasPasskeys } from './passkeys.ts'
import type { SignInMethods } from './sign-in-methods.ts'

interface PasskeyPlaceProps {
  readonly methods: SignInMethods
  readonly children: ComponentChildren
}

/** Shows its children where passkeys work, else where they do. */
export function PasskeyPlace({ methods: { passkeys: url }, children }: PasskeyPlaceProps) {
  if (!hasPasskeys()) return null
  if (url === null) {
    return (
      <p class="hint">
        Passkeys need a host name, and <code>GATEHOOK_PUBLIC_URL</code> has none.
      </p>
    )
  }
  if (new URL(url).origin === location.origin) return children
  return (
    <p class="hint">
      Passkeys need a host name: they work at <a href={url}>{url}</a>.
    </p>
  )
}
