/** A component whose code is loaded after the page that uses it. */
import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { pending } from './api.ts'

/** Returns a component; `load` runs when it is first needed, or by `prefetch` before. */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>) {
  let loaded: ComponentType<P> | undefined
  const fetchCode = async () => {
    loaded ??= await load()
    return loaded
  }
  function Lazy(props: P) {
    const [isLoaded, setLoaded] = useState(loaded !== undefined)
    useEffect(() => {
      if (isLoaded) return
      // The code may have arrived since the first render; the state then changes all the same.
      pending.value++
      fetchCode()
        .then(() => setLoaded(true))
        .finally(() => {
          pending.value--
        })
    }, [])
    const Component = loaded
    return Component ? <Component {...props} /> : null
  }
  return { Lazy, prefetch: () => void fetchCode().catch(() => undefined) }
}
