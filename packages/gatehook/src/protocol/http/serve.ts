/**
 * Runs a request through the pipeline: head steps, body, body steps, handler, and the out steps of
 * every response. A promise is awaited only if a step returns one: most requests run synchronously.
 */
import { Failure, thrownError } from '../../kernel/failure.ts'
import type { Answer, Call, Operation, Step } from './call.ts'
import { patchTypes } from './content-negotiation.ts'
import { DEPARTED, type Exchange, STAGES } from './exchange.ts'
import { ABORTED, receiveBody } from './receive-body.ts'
import { answerFailure, respond } from './respond.ts'

/** Handles an exchange up to its response; never throws, never rejects. */
export function serve(exchange: Exchange): void {
  let answer: Answer | Promise<Answer>
  try {
    answer = handle(exchange)
  } catch (error) {
    answer = answerFailure(exchange, error)
  }
  if (answer instanceof Promise) completeLater(exchange, answer)
  else complete(exchange, answer)
}

async function completeLater(exchange: Exchange, pending: Promise<Answer>): Promise<void> {
  let answer: Answer
  try {
    answer = await pending
    // It may have waited for its turn. A change verifies at its own turn (`perform.ts`).
    if (isRead(exchange) && exchange.hasOldAuthority()) await exchange.requireAuthority()
  } catch (thrown) {
    if (thrown === ABORTED || thrown === DEPARTED) return respond(exchange, undefined)
    const { explainError } = exchange.context
    const error = thrownError(thrown) // own code can throw a promise
    answer = answerFailure(exchange, error instanceof Failure ? error : await explainError(error))
  }
  complete(exchange, answer)
}

const isRead = ({ method }: Exchange): boolean => method === 'GET' || method === 'HEAD'

function handle(exchange: Exchange): Answer | Promise<Answer> {
  const { refusal } = exchange.head
  if (refusal) return reject(exchange, refusal)
  const early = runHeadSteps(exchange.prepared.steps.head, 0, exchange)
  if (early instanceof Promise) return early.then((answer) => answer ?? handleBody(exchange))
  return early ?? handleBody(exchange)
}

/** Runs the head steps from `at` on, and notes the step that runs as the request's stage. */
function runHeadSteps(
  steps: readonly Step[],
  at: number,
  exchange: Exchange,
): Answer | undefined | Promise<Answer | undefined> {
  for (let i = at; i < steps.length; i++) {
    exchange.stage = i
    const result = steps[i]!(exchange)
    if (result instanceof Promise) {
      return result.then((answer) => answer ?? runHeadSteps(steps, i + 1, exchange))
    }
    if (result) return result
  }
  return undefined
}

/** Rejects a malformed request. A retired version takes precedence (§8.7). */
function reject(exchange: Exchange, refusal: Failure): Answer | Promise<Answer> {
  const orThrow = (answer: Answer | undefined): Answer => {
    if (answer) return answer
    throw refusal
  }
  const early = runSteps(exchange.prepared.steps.refused, 0, exchange)
  return early instanceof Promise ? early.then(orThrow) : orThrow(early)
}

const NO_PATH = 'There is no such path. The API documentation lists the paths.'

function handleBody(exchange: Exchange): Answer | Promise<Answer> {
  exchange.stage = STAGES.route
  // For pipelines without this step.
  const early = requireKnownMethod(exchange) as Answer | undefined
  if (early) return early
  const { operation } = exchange
  if (!operation) throw new Failure('not_found', NO_PATH)
  if (operation.body === undefined) return runOperation(exchange, operation)
  exchange.stage = STAGES.body
  const received = receiveBody(exchange, operation)
  if (received) return received.then(() => runAfterBody(exchange, operation))
  return runOperation(exchange, operation)
}

/** Runs the operation if the caller still has its rights: a body may have arrived slowly. */
async function runAfterBody(exchange: Exchange, operation: Operation): Promise<Answer> {
  await exchange.requireAuthority()
  return runOperation(exchange, operation)
}

function runOperation(exchange: Exchange, operation: Operation): Answer | Promise<Answer> {
  exchange.stage = STAGES.handler
  return operation.handle(exchange)
}

/** Runs the steps from `at` on, until one returns a response. */
function runSteps(
  steps: readonly Step[],
  at: number,
  call: Call,
): Answer | undefined | Promise<Answer | undefined> {
  for (let i = at; i < steps.length; i++) {
    const result = steps[i]!(call)
    if (result instanceof Promise) {
      return result.then((answer) => answer ?? runSteps(steps, i + 1, call))
    }
    if (result) return result
  }
  return undefined
}

const ROOT_HINT = '`GET /` returns the paths of the service, with that of `mcp` for agents.'

/**
 * The step that answers OPTIONS with 204 and rejects other methods that the path lacks with 405,
 * both with `Allow`. It precedes the step that requires a credential. An unknown path passes, for
 * its 404.
 */
export const requireKnownMethod: Step = (call) => {
  if (call.operation || call.allow === '') return undefined
  if (call.method === 'OPTIONS') {
    return { status: 204, headers: { allow: call.allow, ...patchTypes(call) } }
  }
  const hint = call.path === '/' ? ` ${ROOT_HINT}` : ''
  throw new Failure('method_not_allowed', `${call.method} is not allowed here.${hint}`, {
    headers: { allow: call.allow },
  })
}

/** Runs the out steps from `at` on. A failure of a step becomes the response. */
function complete(exchange: Exchange, answer: Answer, at = 0): void {
  const { out } = exchange.prepared.steps
  for (let i = at; i < out.length; i++) {
    try {
      const pending = out[i]!(exchange, answer)
      if (pending instanceof Promise) {
        pending.then(
          () => complete(exchange, answer, i + 1),
          (error) => complete(exchange, answerFailure(exchange, error), i + 1),
        )
        return
      }
    } catch (error) {
      answer = answerFailure(exchange, error)
    }
  }
  const delayMs = exchange.context.refusals.delayMs(exchange, answer.status)
  if (delayMs <= 0) respond(exchange, answer)
  else respondLater(exchange, answer, delayMs)
}

/** Sends a response after a delay, or logs at once that the client has left. */
function respondLater(exchange: Exchange, answer: Answer, delayMs: number): void {
  const { response } = exchange
  exchange.dropBody()
  const send = () => {
    clearTimeout(timer)
    response.off('close', send)
    respond(exchange, answer)
  }
  const timer = setTimeout(send, delayMs)
  response.once('close', send)
}
