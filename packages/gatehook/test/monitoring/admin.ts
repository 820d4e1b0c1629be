/** Callers of tests of `operate/monitoring/`. */
import type { Caller, TestApp } from '../../../../test/rig/service.ts'

/** Returns a caller with the scope `admin`. */
export const adminOf = async (service: TestApp): Promise<Caller> =>
  service.as(await service.key({ customer: 'default', mode: 'live', scopes: ['admin'] }))

export const requestIdOf = (reply: { headers: Readonly<Record<string, string>> }): string =>
  reply.headers['x-request-id']!
