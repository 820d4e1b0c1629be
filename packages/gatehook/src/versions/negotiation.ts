/**
 * Which version a call is served in (§8.1–8.4, §8.7), in two steps: what the call names is judged
 * before anybody is asked who they are; what it leaves open is settled once the credential, and
 * its pin, are known. A version that is gone ends the call in either.
 */
import type { Answer, Call, Step } from '../http/call.ts'
import { Failure } from '../kernel/failure.ts'
import type { Board, Standing } from './board.ts'
import type { Naming } from './naming.ts'

export interface NegotiationDeps {
  readonly board: Board
  readonly naming: Naming
  /** A version must be named, or the credential pinned to one. */
  readonly strict: boolean
  /** The answer where the version is retired or browns out. */
  readonly gone: (call: Call, standing: Standing) => Answer | Promise<Answer>
}

/** Behind the path, `Accept` chooses between JSON and the vendor's type, and how errors look. */
const VARY_PATH = 'Accept'
/** Without a version in the path everything that can name one chooses, the pin included. */
const VARY_OPEN = 'Accept, X-API-Version, API-Version'

const underApi = (path: string): boolean => path.startsWith('/api/') || path === '/api'

export interface NegotiationSteps {
  readonly explicit: Step
  readonly settled: Step
}

export function negotiation({ board, naming, strict, gone }: NegotiationDeps): NegotiationSteps {
  const name = (call: Call, version: string) => {
    call.version = version
    call.out['x-api-version'] = version
  }
  const serve = (call: Call, version: string): Answer | Promise<Answer> | undefined => {
    const standing = board.standing(version)
    if (!standing) throw unsupportedPin(version)
    name(call, version)
    return standing.gone ? gone(call, standing) : undefined
  }

  return {
    explicit(call) {
      const inPath = call.versionSegment !== undefined
      if (!inPath && call.kind === 'unknown' && !underApi(call.path)) return undefined
      call.out.vary = inPath ? VARY_PATH : VARY_OPEN
      const version = naming.versionOf(call)
      if (version !== undefined) return serve(call, version)
      // Named already for those who get no further than the credential.
      if (call.kind === 'api' && !strict) name(call, board.oldest())
      return undefined
    },

    settled(call) {
      if (call.versionSegment !== undefined) return undefined
      const pin = call.principal?.version
      if (pin !== undefined) {
        if (naming.versionOf(call) === undefined) return serve(call, pin)
      } else if (call.version === undefined && call.operation) {
        throw new Failure('version_required')
      }
      // What was named is judged; what was not may have been the oldest in a brownout.
      const standing = call.version === undefined ? undefined : board.standing(call.version)
      return standing?.gone ? gone(call, standing) : undefined
    },
  }
}

const unsupportedPin = (version: string): Failure =>
  new Failure(
    'unsupported_version',
    `The credential is pinned to ${version}, which does not exist any more. Name a version.`,
  )
