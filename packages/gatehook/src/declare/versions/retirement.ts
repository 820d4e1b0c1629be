/**
 * The 410 of a retired version, and of one in a brownout (§8.7). It identifies the caller for the
 * usage count, and never rejects a credential.
 */
import type { Identify } from '../../identity/access/authenticate.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure } from '../../kernel/failure.ts'
import type { Principal } from '../../kernel/principal.ts'
import { isoTime, retryAfterS } from '../../kernel/time.ts'
import type { Answer, Call } from '../../protocol/http/call.ts'
import { formatProblem } from '../../protocol/http/problem.ts'
import { errorsUrl, upgradeUrl } from './signals.ts'
import type { VersionStatus } from './version-statuses.ts'

/** The version can return, so intermediaries must not cache the 410. */
const NO_STORE = { 'cache-control': 'no-store' }

export const goneResponder =
  (clock: Clock, identify: Identify) =>
  (call: Call, status: VersionStatus): Answer | Promise<Answer> => {
    const respond = (principal: Principal | undefined): Answer => {
      call.principal = principal
      return status.state === 'retired'
        ? { status: 410, json: status.retirement, headers: { ...NO_STORE } }
        : brownoutResponse(call, status, clock.now())
    }
    if (call.principal) return respond(call.principal)
    const principal = identify(call)
    return principal instanceof Promise ? principal.then(respond) : respond(principal)
  }

/** The usual error envelope, with `upgrade_url`. */
function brownoutResponse(call: Call, status: VersionStatus, now: number): Answer {
  const { end } = status.brownout!
  const seconds = retryAfterS(end - now)
  const failure = new Failure(
    'api_version_brownout',
    `Version ${status.version} is unavailable until ${isoTime(end)}, as announced.`,
    { headers: { ...NO_STORE, 'retry-after': String(seconds) } },
  )
  const { accept } = call.headers
  const documentation = errorsUrl(status)
  const answer = formatProblem(failure, {
    requestId: call.id,
    accept,
    path: call.path,
    documentation,
  })
  const url = JSON.stringify(upgradeUrl(status))
  return { ...answer, json: `${answer.json!.slice(0, -1)},"upgrade_url":${url}}` }
}
