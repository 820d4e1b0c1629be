/**
 * Answers of a version that is gone (§8.7): 410 for good, or for the length of a brownout. Whoever
 * calls is named for the ledger where their credential verifies, and judged in no case.
 */
import type { Identify } from '../access/authenticate.ts'
import type { Answer, Call } from '../http/call.ts'
import { problem } from '../http/problem.ts'
import type { Clock } from '../kernel/clock.ts'
import { Failure } from '../kernel/failure.ts'
import type { Principal } from '../kernel/principal.ts'
import { isoTime } from '../kernel/time.ts'
import type { Standing } from './board.ts'
import { upgradeUrl } from './signals.ts'

/** The version may come back, so that nobody on the way is to remember this. */
const FORGET = { 'cache-control': 'no-store' }

export const createGone =
  (clock: Clock, identify: Identify) =>
  (call: Call, standing: Standing): Answer | Promise<Answer> => {
    const answer = () =>
      standing.state === 'retired'
        ? { status: 410, json: standing.retirement, headers: { ...FORGET } }
        : brownedOut(call, standing, clock.now())
    if (call.principal) return answer()
    const name = (principal: Principal | undefined) => {
      call.principal = principal
      return answer()
    }
    const known = identify(call)
    return known instanceof Promise ? known.then(name) : name(known)
  }

/** The usual envelope, with `upgrade_url` beside it. */
function brownedOut(call: Call, standing: Standing, now: number): Answer {
  const { end } = standing.brownout!
  const seconds = Math.max(1, Math.ceil((end - now) / 1000))
  const failure = new Failure(
    'api_version_brownout',
    `Version ${standing.version} is switched off until ${isoTime(end)}, as announced.`,
    { headers: { ...FORGET, 'retry-after': String(seconds) } },
  )
  const { accept } = call.headers
  const answer = problem(failure, { requestId: call.id, accept, path: call.path })
  const url = JSON.stringify(upgradeUrl(standing))
  return { ...answer, json: `${answer.json!.slice(0, -1)},"upgrade_url":${url}}` }
}
