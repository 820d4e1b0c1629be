/**
 * The challenges of paths that accept access tokens (§3.1, §16.1): every 401 has one for each
 * scheme, Bearer first, because some programs read the first alone; a 403 of a token that lacks a
 * scope names the scope. Other responses of 403 have none.
 */

import type { CallerKind } from '../../kernel/principal.ts'
import {
  BASIC_CHALLENGE,
  bearerChallenge,
  parseAuthorization,
} from '../../protocol/http/authorization.ts'
import type { After, Call } from '../../protocol/http/call.ts'
import { resourceMetadataUrl } from './protected-resources.ts'

/** The kinds of caller that send access tokens. */
const TOKEN_CALLERS: readonly CallerKind[] = ['person', 'application', 'client', 'workload']

/** Whether a request could carry an access token instead of the credential that it has. */
function acceptsTokens({ operation, failure, missingScope }: Call): boolean {
  // A handler that verifies the credential itself: it rejected a token, or names the scope.
  if (failure === 'invalid_token' || missingScope !== undefined) return true
  if (!operation || operation.authenticated === false) return false
  const { callers } = operation
  return !callers || callers.some((kind) => TOKEN_CALLERS.includes(kind))
}

/** Returns the step on the response that adds the challenges. */
export function addChallenges(publicUrl: () => string): After {
  return (call, answer) => {
    const { status, headers } = answer
    if ((status !== 401 && status !== 403) || !acceptsTokens(call)) return
    const { scheme } = parseAuthorization(call.headers.authorization ?? '')
    const needed = [call.operation?.scope, call.missingScope].filter((scope) => scope !== undefined)
    const scopes = [...new Set(needed)]
    const metadata = resourceMetadataUrl(publicUrl(), call.path)
    const addHeader = (challenge: string) => {
      const others = Object.entries(headers ?? {}).filter(([name]) => !IS_CHALLENGE.test(name))
      answer.headers = { ...Object.fromEntries(others), 'www-authenticate': challenge }
    }
    if (status === 403) {
      if (call.failure !== 'insufficient_scope' || scheme !== 'bearer') return
      addHeader(bearerChallenge({ error: 'insufficient_scope', scopes, metadata }))
      return
    }
    const error = call.failure === 'invalid_token' ? { error: 'invalid_token' as const } : {}
    const challenges = [bearerChallenge({ ...error, scopes, metadata }), 'ApiKey']
    if (scheme === 'basic') challenges.push(BASIC_CHALLENGE)
    addHeader(challenges.join(', '))
  }
}

const IS_CHALLENGE = /^www-authenticate$/i
