/** For the tests of versions: a service whose clock is set, and an operator who announces. */
import type { TestContext } from 'node:test'
import { type Caller, eachService, type TestApp } from '../../../../test/rig/service.ts'
import type { Service } from '../../src/resources/service.ts'

export interface Timed extends TestApp {
  /** Sets the clock; it stands there. */
  at(instant: string): Promise<void>
  /** `PUT /admin/versions/{v}`. */
  announce(version: string, body: object): ReturnType<Caller['put']>
  readonly operator: Caller
}

const actor = { kind: 'cli', id: 'test' } as const

/** Defines the same test on both databases. It is midnight of 1 December 2026, and stays so. */
export function eachTimed(
  name: string,
  body: (service: Timed, t: TestContext) => Promise<void>,
  options: { readonly service?: Service; readonly env?: Record<string, string> } = {},
): void {
  const env = { GATEHOOK_TEST_CLOCK: '1', ...options.env }
  eachService(
    name,
    async (service, t) => {
      const at = async (now: string) => {
        await service.app.clock!.set({ now, freeze: true }, actor)
      }
      await at('2026-12-01T00:00:00Z')
      const key = await service.key({ scopes: ['admin'], mode: 'live' })
      const operator = service.as(key)
      const announce: Timed['announce'] = (version, wish) =>
        operator.put(`/admin/versions/${version}`, wish)
      await body({ ...service, at, operator, announce }, t)
    },
    { ...options, env },
  )
}
