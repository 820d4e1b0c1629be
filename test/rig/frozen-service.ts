/** A service with a frozen clock, and an operator that changes version calendars. */
import type { TestContext } from 'node:test'
import type { Service } from '../../packages/gatehook/src/declare/resources/service.ts'
import { type Clock, wallClock } from '../../packages/gatehook/src/kernel/clock.ts'
import { type Caller, eachService, type TestApp } from './service.ts'

export interface FrozenService extends TestApp {
  /** Sets the frozen clock. */
  at(instant: string): Promise<void>
  /** `PUT /admin/versions/{v}`. */
  announce(version: string, body: object): ReturnType<Caller['put']>
  readonly operator: Caller
}

/** A wall clock before every instant that a test sets, whatever the date of the machine is. */
export const wallClockOfTests: Clock = {
  now: () => Date.parse('2026-11-30T00:00:00Z'),
  elapsedMs: () => wallClock.elapsedMs(),
}

const actor = { kind: 'cli', id: 'test' } as const

/** Defines a test on both databases. Its clock is frozen at midnight of 1 December 2026. */
export function eachFrozen(
  name: string,
  body: (service: FrozenService, t: TestContext) => Promise<void>,
  options: { readonly service?: Service; readonly env?: Record<string, string> } = {},
): void {
  const env = { GATEHOOK_TEST_CLOCK: '1', ...options.env }
  eachService(
    name,
    async (service, t) => {
      const at = async (now: string) => {
        await service.app.clock!.set({ now: Date.parse(now), freeze: true }, actor)
      }
      await at('2026-12-01T00:00:00Z')
      const key = await service.key({ scopes: ['admin'], mode: 'live' })
      const operator = service.as(key)
      const announce: FrozenService['announce'] = (version, calendar) =>
        operator.put(`/admin/versions/${version}`, calendar)
      await body({ ...service, at, operator, announce }, t)
    },
    { ...options, env, clock: wallClockOfTests },
  )
}
