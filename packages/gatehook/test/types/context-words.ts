/**
 * The documented table of the words of each context (§15.1) has exactly the members of their types.
 * The file is compiled, not run.
 */

import type { contextWords } from '../../../../docs/generate/context-words.ts'
import type { RunArguments } from '../../src/declare/resources/resource-options.ts'
import type { RuleArguments } from '../../src/declare/resources/rule.ts'
import type {
  CustomerScheduleContext,
  EventContext,
  JobContext,
  RouteContext,
  ScheduleContext,
  StepContext,
  StepEffect,
} from '../../src/gatehook.ts'
import type { Fields } from '../../src/protocol/fields/fields.ts'

type Table = typeof contextWords
type Words<C extends keyof Table> = Table[C][number]
/** Is true if both are the same names, else the differing ones. */
type Same<A, B> = [Exclude<A, B> | Exclude<B, A>] extends [never]
  ? true
  : Exclude<A, B> | Exclude<B, A>
type Route = RouteContext<Fields, Fields, '/x'>
type CustomerOf<C> = C extends { customers(): AsyncIterable<infer V> } ? V : never

export const run: Same<Words<'`run` of an action'>, keyof RunArguments<Fields, Fields>> = true
export const rule: Same<Words<'`.rule()`'>, keyof RuleArguments<Fields, 'update'>> = true
export const get: Same<Words<'`.route()`, GET'>, keyof Route> = true
/** `fetch` rejects there. */
export const post: Same<Words<'`.route()`, other methods'>, Exclude<keyof Route, 'fetch'>> = true
export const steps: Same<
  Words<'`.route({ steps: true })`'>,
  keyof StepContext<Fields, Fields, '/x'>
> = true
export const step: Same<Words<'the code of a step'>, keyof StepEffect> = true
export const job: Same<Words<'`.job()`'>, keyof JobContext<Fields>> = true
export const on: Same<Words<'`.on()`'>, keyof EventContext> = true
export const every: Same<Words<'`.every()`'>, keyof ScheduleContext> = true
export const customer: Same<
  Words<'each of its `customers()`'>,
  keyof CustomerOf<ScheduleContext>
> = true
export const everyCustomer: Same<
  Words<"`.every()`, `{ each: 'customer' }`">,
  keyof CustomerScheduleContext
> = true
