/**
 * Selects the version that serves a request (§8.1–8.4, §8.7) in two steps. The first reads the
 * version that the request names, before authentication. The second uses the pin of the credential,
 * or the default. Either step ends a request of a retired version with 410.
 */

import { Failure } from '../../kernel/failure.ts'
import type { Answer, Call, Step } from '../../protocol/http/call.ts'
import { joinVary } from '../../protocol/http/header.ts'
import type { VersionReader } from './requested-version.ts'
import type { VersionStatus, VersionStatuses } from './version-statuses.ts'

interface NegotiationDeps {
  readonly statuses: VersionStatuses
  readonly reader: VersionReader
  /** The request must name a version, or its credential must be pinned to one. */
  readonly strict: boolean
  /** Creates the 410 of a retired version, or of one in a brownout. */
  readonly respondGone: (call: Call, status: VersionStatus) => Answer | Promise<Answer>
}

/** With a version in the path, `Accept` selects JSON or the vendor type. */
const VARY_PATH = 'Accept'
/** Without it, every header that can name a version selects the response. */
const VARY_OPEN = 'Accept, X-API-Version, API-Version'

const addVersionVary = ({ out, versionSegment }: Call): void => {
  out.vary = joinVary(out.vary, versionSegment === undefined ? VARY_OPEN : VARY_PATH)
}

const isUnderApi = (path: string): boolean => path.startsWith('/api/') || path === '/api'

interface NegotiationSteps {
  readonly requestedVersion: Step
  readonly defaultVersion: Step
  /** Both steps in one, for an operator that acts for a customer (`/admin/as`). */
  readonly actingVersion: Step
}

export function negotiationSteps(deps: NegotiationDeps): NegotiationSteps {
  const { statuses, reader, strict, respondGone } = deps
  const setVersion = (call: Call, version: string) => {
    call.version = version
    call.out['x-api-version'] = version
  }
  const serve = (call: Call, version: string): Answer | Promise<Answer> | undefined => {
    const status = statuses.statusOf(version)
    if (!status) throw unsupportedPin(version)
    setVersion(call, version)
    return status.isGone ? respondGone(call, status) : undefined
  }

  return {
    actingVersion(call) {
      addVersionVary(call)
      const version = reader.versionOf(call)
      if (version === undefined && strict) throw new Failure('version_required')
      return serve(call, version ?? statuses.oldestServed())
    },

    requestedVersion(call) {
      if (call.versionSegment === undefined && call.kind === 'unknown' && !isUnderApi(call.path))
        return undefined
      addVersionVary(call)
      const version = reader.versionOf(call)
      if (version !== undefined) return serve(call, version)
      // A response to a rejected credential also names a version.
      if (call.kind === 'api' && !strict) setVersion(call, statuses.oldestServed())
      return undefined
    },

    defaultVersion(call) {
      if (call.versionSegment !== undefined) return undefined
      const pin = call.principal?.version
      if (pin !== undefined) {
        if (reader.versionOf(call) === undefined) return serve(call, pin)
      } else if (call.version === undefined && call.operation) {
        throw new Failure('version_required')
      }
      // The first step has checked a requested version; the default can be in a brownout.
      const status = call.version === undefined ? undefined : statuses.statusOf(call.version)
      return status?.isGone ? respondGone(call, status) : undefined
    },
  }
}

const unsupportedPin = (version: string): Failure =>
  new Failure(
    'unsupported_version',
    `The credential is pinned to ${version}, which no longer exists. Name a version.`,
  )
