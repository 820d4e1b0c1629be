/** The rows of a simulated world as the engine reads and writes them. */
import { FAILING_MS, FAILURES_APART_MS } from '../../src/outbound/deliveries/endpoint-health.ts'
import type { EngineStore } from '../../src/outbound/deliveries/ports.ts'
import type { World } from './simulation.ts'

type SimulatedRows = Pick<World, 'rows' | 'endpoints' | 'isFull' | 'disabled' | 'now' | 'change'>

/** Returns the store of one engine; `requireAlive` throws once the engine has crashed. */
export function createSimulatedStore(world: SimulatedRows, requireAlive: () => void): EngineStore {
  const pendingRows = (no: number) =>
    [...world.rows.values()]
      .filter((row) => row.webhook === no && row.state === 'pending')
      .sort((a, b) => a.nextAt! - b.nextAt!)
  /** Endpoints that send, with their first delivery that is due after an instant. */
  const pendingEndpoints = (after: number) =>
    [...world.endpoints.values()].flatMap(({ registration: { no, scope, sends } }) => {
      const first = pendingRows(no).find(({ nextAt }) => nextAt! > after)
      return sends && first ? [{ no, scope, dueAt: first.nextAt! }] : []
    })
  return {
    readDuePage: async (after, until) => {
      requireAlive()
      const due = pendingEndpoints(after).filter(({ dueAt }) => dueAt <= until)
      const [next] = pendingEndpoints(until).sort((a, b) => a.dueAt - b.dueAt)
      return { endpoints: due, readUntil: until, isComplete: true, nextDueAt: next?.dueAt }
    },
    readEndpointSlice: async (after, limit) => {
      requireAlive()
      const later = pendingEndpoints(0).filter(({ no }) => no > after)
      const endpoints = later.slice(0, limit)
      return { endpoints, next: later.length > limit ? endpoints.at(-1)?.no : undefined }
    },
    readRegistration: async (no) => world.endpoints.get(no)?.registration,
    readDueDeliveries: async ({ no }, { from, now }, loadedIds, limit) => {
      const others = pendingRows(no).filter(
        (row) => !loadedIds.has(row.id) && row.nextAt! >= from - 60_000,
      )
      const rows = others.filter((row) => row.nextAt! <= now).slice(0, limit)
      return {
        rows: rows.map((row) => ({ ...row })),
        nextDueAt: others[rows.length]?.nextAt ?? undefined,
      }
    },
    readResentDeliveries: async (_scope, now, ids) =>
      [...world.rows.values()]
        .filter(
          ({ id, state, nextAt }) => ids.includes(id) && state === 'pending' && nextAt! <= now,
        )
        .map((row) => ({ ...row })),
    beginBacklogs: async () => 0,
    fillBacklog: async () => ({ count: 0, dueAt: 0, isLast: true }),
    endBacklog: async () => {},
    readAwaitedSlice: async () => ({ endpoints: [], next: undefined }),
    readSummary: async () => undefined,
    readLargeBody: async (_scope, id) => world.rows.get(id)?.body,
    writeResults: async (results, health) => {
      requireAlive()
      if (world.isFull) throw new Error('the disk is full')
      for (const { id, state, attempt, nextAt } of results) {
        const row = world.rows.get(id)!
        if (row.state === 'pending') Object.assign(row, { state, attempt, nextAt })
      }
      for (const { no, ...update } of health) {
        const endpoint = world.endpoints.get(no)!
        endpoint.registration = { ...endpoint.registration, ...update }
      }
    },
    disableRegistration: async (no, reason) => {
      if (!world.endpoints.get(no)!.registration.sends) return
      world.disabled.push({ no, reason, at: world.now })
      world.change(no, { sends: false })
    },
    listFailing: async (now) =>
      [...world.endpoints.values()]
        .map(({ registration }) => registration)
        .filter(({ sends, firstFailureAt: first, lastFailureAt: last }) =>
          first === null || last === null || !sends
            ? false
            : first <= now - FAILING_MS && last >= first + FAILURES_APART_MS,
        )
        .map(({ no }) => no),
  }
}
