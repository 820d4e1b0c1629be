import { NO_DECLARED_OBJECTS } from '../../packages/gatehook/src/history/events/stored-objects.ts'

/** Bytes, secret and measurement that all contenders share. */
export interface Measured {
  readonly perSecond: number
  /** CPU time of the sending process per delivery. */
  readonly cpuUs: number
  readonly rssMb: number
}

export const SECRET = { value: `whsec_${Buffer.alloc(32, 7).toString('base64')}` }

export const OBJECT = JSON.stringify({
  id: 1,
  user_id: 7,
  amount: 129_50,
  currency: 'EUR',
  status: 'pending',
  note: 'n'.repeat(120),
  created_at: '2026-11-21T04:32:45.290Z',
})

export const body = (): string =>
  `{"id":"evt_0VbZy3Jl000olBDVikSx3M","type":"order.created","created":1,"livemode":false,` +
  `"data":{"object":${OBJECT}}}`

export const MASTER_SECRET = 'the master secret of the bench, long enough'

/** The id and name of the node of a bench, which `fill.ts` registers. */
export const NODE = 'bench'

/** Returns the settings of an engine for the benchmark. */
export const engineSettings = (databaseUrl: string) => ({
  database: { url: databaseUrl },
  node: NODE,
  nodeName: NODE,
  masterSecrets: [MASTER_SECRET],
  secretFile: undefined,
  testClock: false,
  scheduleS: [5],
  timeoutMs: 15_000,
  allowPrivate: true,
  ca: undefined,
  rate: undefined,
  userAgent: 'bench',
  shape: 'v2',
  coverage: {},
  declaredObjects: NO_DECLARED_OBJECTS,
  eventHandlers: {},
})

const MB = 1_048_576

/** Measures a run. Samples the memory during the run, because it is lower at the end. */
export async function measureRun(count: number, run: () => Promise<void>): Promise<Measured> {
  const before = process.cpuUsage()
  const start = performance.now()
  let rss = 0
  const watch = setInterval(() => {
    rss = Math.max(rss, process.memoryUsage.rss())
  }, 50)
  await run()
  clearInterval(watch)
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(before)
  return {
    perSecond: Math.round(count / seconds),
    cpuUs: Math.round((10 * (user + system)) / count) / 10,
    rssMb: Math.round(Math.max(rss, process.memoryUsage.rss()) / MB),
  }
}
