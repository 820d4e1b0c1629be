/** Lets a guard count the bodies of responses whose handler belongs to others, such as `fetch`. */
import type { ResponseGuard } from './response-guard.ts'

type Callback = (...call: unknown[]) => unknown

/** undici calls these in both of its styles of handlers; the chunk is the last argument. */
const START = new Set<unknown>(['onConnect', 'onRequestStart'])
const DATA = new Set<unknown>(['onData', 'onResponseData'])

/** Returns `handler`, whose calls the guard of the connection receives first. */
export function countBodies<Handler extends object>(
  handler: Handler,
  guard: () => ResponseGuard | undefined,
): Handler {
  return new Proxy(handler, {
    get(target, name) {
      const member = Reflect.get(target, name) as Callback | undefined
      if (typeof member !== 'function') return member
      return (...call: unknown[]) => {
        if (START.has(name)) guard()?.begin()
        else if (DATA.has(name)) guard()?.countBody((call.at(-1) as Buffer).length)
        return member.apply(target, call)
      }
    },
  })
}
