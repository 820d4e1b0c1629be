/**
 * Answers the routes of `.forward(…)` (§17.5): sends the request to its upstream, and maps the
 * outcome to a response, and to its effect for repeats.
 */
import type { SignAssertion } from '../../identity/tokens/assertion.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Failure, type FailureCode, failures } from '../../kernel/failure.ts'
import type { HttpMethod } from '../../outbound/transport/post-exchange.ts'
import type { UpstreamOutcome } from '../../outbound/transport/upstream-exchange.ts'
import type { Upstreams } from '../../outbound/transport/upstreams.ts'
import type { Answer, Call } from '../../protocol/http/call.ts'
import { DEPARTED } from '../../protocol/http/exchange.ts'
import { ownerOf } from '../../protocol/http/owner.ts'
import type { OutsideResult, PerformOutside } from '../../protocol/idempotency/outside.ts'
import type { DeclaredMembers } from '../resources/body-versions.ts'
import type { Catalog } from '../resources/catalog.ts'
import { forwardsOf } from '../resources/forward-check.ts'
import type { RouteDefinition } from '../resources/route.ts'
import type { ConfiguredUpstream } from './configuration.ts'
import { createOutputConverter, InvalidOutput } from './output.ts'
import { createForwardReader, type ForwardedRequest } from './request.ts'
import { responseHeadersOf } from './response.ts'

export interface ForwardDeps {
  readonly clock: Pick<Clock, 'elapsedMs'>
  readonly upstreams: ReadonlyMap<string, ConfiguredUpstream>
  readonly send: Upstreams['send']
  readonly signAssertion: SignAssertion
  readonly performOutside: PerformOutside
}

type AnsweredForward = Extract<UpstreamOutcome, { kind: 'answered' }>
type UnansweredForward = Extract<UpstreamOutcome, { kind: 'failed' }>

/** The largest response that is stored for repeats. */
const STORED_BYTES_MAX = 1_048_576
/** Redirects after which the upstream expects no repeat of the request. */
const AFTER_EFFECT = new Set([301, 302, 303])
const NO_BODY = new Set([204, 205, 304])
/** Refusals before any effect, after which a repeat may succeed: none is stored. */
const TRANSIENT = new Set([412, 425, 429])
/** A refusal that names a time for a repeat, such as 409 of a change in progress, is no answer. */
const isTransient = (status: number, retryAfter: string | undefined) =>
  TRANSIENT.has(status) || retryAfter !== undefined

/** Returns the function that creates the handler of a route. */
export const createForwarder =
  (catalog: Catalog, deps: ForwardDeps) =>
  (route: RouteDefinition): ((call: Call) => Promise<Answer>) => {
    const { forward, method } = route
    const upstream = deps.upstreams.get(forward!.to)
    if (!upstream) return rejectCommand
    const read = createForwardReader(catalog, route, upstream)
    const toResult = createResultReader(catalog, route, upstream)
    const send = createSender(deps, route, upstream)
    const { repeatable: isRepeatable } = forward!
    const run = async (call: Call, request: ForwardedRequest, key?: string) => {
      const result = toResult(call, request, await send(call, request, key))
      return explainUnknown(call, result, isRepeatable && key !== undefined)
    }
    const options = { lastsMs: upstream.timeoutMs, isRepeatable }
    return async (call) => {
      const request = read(call)
      if (method !== 'GET') {
        return deps.performOutside(call, options, (key) => run(call, request, key))
      }
      const { outcome } = await run(call, request)
      if ('answer' in outcome) return outcome.answer
      throw outcome.failure
    }
  }

/** Commands run without the variables of upstreams. */
const rejectCommand = async (): Promise<never> => {
  throw new Failure('upstream_unreachable', 'A command does not reach upstreams.')
}

/** Of an end before any byte of a response: the connection failed. */
const REPEATED = new Set<UnansweredForward['reason']>(['reset', 'refused', 'unreachable'])

function createSender(deps: ForwardDeps, route: RouteDefinition, upstream: ConfiguredUpstream) {
  const { clock, send, signAssertion } = deps
  const method = route.method as HttpMethod
  const readsOf = (call: Call) => {
    if (route.output) return 'whole'
    if (call.method === 'HEAD') return 'head'
    return route.forward!.stream ? 'stream' : 'whole'
  }
  return async (call: Call, request: ForwardedRequest, key: string | undefined) => {
    const { path, headers, body } = request
    const endMs = clock.elapsedMs() + upstream.timeoutMs
    // With a key the response is stored for the repeat of a caller that has left.
    const signal = key === undefined ? call.signal : undefined
    const attempt = async (): Promise<UpstreamOutcome> => {
      const assertion = await signAssertion({
        principal: call.principal!,
        audience: upstream.name,
        requestId: call.id,
        method,
        path,
      })
      const timeoutMs = Math.max(1, Math.ceil(endMs - clock.elapsedMs()))
      const own = { 'gatehook-assertion': assertion, ...(key && { 'idempotency-key': key }) }
      const { origin } = upstream
      const sent = { origin, method, path, body, timeoutMs, reads: readsOf(call) } as const
      return send({ ...sent, headers: { ...headers, ...own } }, ownerOf(call), signal)
    }
    const outcome = await attempt()
    const isRepeated =
      method === 'GET' &&
      outcome.kind === 'failed' &&
      !outcome.hasBegun &&
      REPEATED.has(outcome.reason)
    return isRepeated ? attempt() : outcome
  }
}

function createResultReader(
  catalog: Catalog,
  route: RouteDefinition,
  upstream: ConfiguredUpstream,
) {
  const { output, forward, method } = route
  const isList = forward!.returnsList
  const convert =
    output && createOutputConverter(output as DeclaredMembers, catalog.versions, isList)
  const ofUpstream = forwardsOf(catalog.service.routes, forward!.to)
  // A link is read: the path of a GET precedes.
  const routes = [...ofUpstream].sort(
    (a, b) => Number(b.method === 'GET') - Number(a.method === 'GET'),
  )

  const headersOf = (
    call: Call,
    { path }: ForwardedRequest,
    { headers }: AnsweredForward,
    isConverted: boolean,
  ) =>
    responseHeadersOf(
      headers,
      route,
      { upstream, sentPath: path, publicPath: call.path, version: call.version!, routes },
      isConverted,
    )

  const passed = (
    call: Call,
    request: ForwardedRequest,
    response: AnsweredForward,
  ): OutsideResult => {
    const { status, body, pipe } = response
    const headers = headersOf(call, request, response, false)
    if (pipe) return { outcome: { answer: { status, headers, stream: pipe } }, effect: 'unknown' }
    if (call.method === 'HEAD' && !NO_BODY.has(status)) {
      return {
        outcome: { answer: { status, headers, stream: (out) => out.end() } },
        effect: 'known',
      }
    }
    const answer = { status, headers, ...(!NO_BODY.has(status) && { raw: body }) }
    const isStored = body.length <= STORED_BYTES_MAX
    return { outcome: { answer }, effect: isStored ? 'known' : 'unknown' }
  }

  const converted = (
    call: Call,
    request: ForwardedRequest,
    response: AnsweredForward,
  ): OutsideResult => {
    try {
      const json = convert!(response.body, call.version!)
      const headers = headersOf(call, request, response, true)
      const isStored = Buffer.byteLength(json) <= STORED_BYTES_MAX
      const answer = { status: response.status, json, headers }
      return { outcome: { answer }, effect: isStored ? 'known' : 'unknown' }
    } catch (error) {
      if (!(error instanceof InvalidOutput)) throw error
      const detail = { upstream: upstream.name, problem: error.message }
      return failed('upstream_invalid', 'unknown', { detail })
    }
  }

  return (call: Call, request: ForwardedRequest, response: UpstreamOutcome): OutsideResult => {
    if (response.kind === 'failed')
      return ofUnanswered(call, response, upstream, convert !== undefined)
    const { status, headers } = response
    const detail = { upstream: upstream.name, status }
    const retryAfter = headers.get('retry-after')?.[0]
    const retry = retryAfter === undefined ? {} : { headers: { 'retry-after': retryAfter } }
    if (status >= 500) {
      return failed('upstream_failed', 'unknown', { detail, ...(status === 503 && retry) })
    }
    if (status === 401 || status === 407) return failed('upstream_failed', 'none', { detail })
    if (status >= 400) {
      const refused = () => {
        const own = { status, title: failures.upstream_refused[1] }
        return failed('upstream_refused', 'known', { own, ...retry })
      }
      const result = forward!.errors === 'wrap' ? refused() : passed(call, request, response)
      return isTransient(status, retryAfter) ? { ...result, effect: 'none' } : result
    }
    if (status === 304 && method === 'GET' && !convert) return passed(call, request, response)
    if (status >= 300) {
      return failed('upstream_failed', AFTER_EFFECT.has(status) ? 'unknown' : 'none', {
        detail,
      })
    }
    const hasBody = !NO_BODY.has(status)
    return convert && hasBody ? converted(call, request, response) : passed(call, request, response)
  }
}

/** Adds to the failure of a change that may have been executed what its caller can do. */
function explainUnknown(
  { method }: Call,
  result: OutsideResult,
  canRepeat: boolean,
): OutsideResult {
  const { outcome, effect } = result
  const isRead = method === 'GET' || method === 'HEAD'
  if (effect !== 'unknown' || isRead || 'answer' in outcome) return result
  const { code, message, options, detail } = outcome.failure
  const next = canRepeat
    ? 'Repeat it with the same `Idempotency-Key`.'
    : 'Read what it would have changed before you send it again.'
  const sentence = `${message} The request was sent and may have been executed. ${next}`
  return { outcome: { failure: new Failure(code, sentence, { ...options, detail }) }, effect }
}

const failed = (
  code: FailureCode,
  effect: OutsideResult['effect'],
  options: ConstructorParameters<typeof Failure>[2],
): OutsideResult => ({ outcome: { failure: new Failure(code, undefined, options) }, effect })

function ofUnanswered(
  call: Call,
  { reason, isSent }: UnansweredForward,
  { name }: ConfiguredUpstream,
  hasOutput: boolean,
): OutsideResult {
  if (reason === 'aborted' && call.signal.aborted) throw DEPARTED
  const effect = isSent ? 'unknown' : 'none'
  const detail = { upstream: name, problem: reason }
  if (reason === 'timeout') return failed('upstream_timeout', effect, { detail })
  if (reason === 'overloaded') {
    return failed('overloaded', effect, { detail, headers: { 'retry-after': '1' } })
  }
  if (reason === 'body') {
    return failed(hasOutput ? 'upstream_invalid' : 'upstream_failed', effect, { detail })
  }
  const isAnswer = isSent && (reason === 'protocol' || reason === 'too_large')
  return failed(isAnswer ? 'upstream_failed' : 'upstream_unreachable', effect, { detail })
}
