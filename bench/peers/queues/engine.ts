/** Gatehook's engine as a side of row 12, on either database; another process fills it. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createLog } from '../../../packages/gatehook/src/kernel/log.ts'
import {
  type EngineHost,
  openEngineHost,
} from '../../../packages/gatehook/src/outbound/deliveries/host.ts'
import { openDatabase } from '../../../packages/gatehook/src/platform/storage/open.ts'
import { sql } from '../../../packages/gatehook/src/platform/storage/sql.ts'
import { engineSettings } from '../../deliveries/common.ts'

const log = createLog({ level: 'warn' })

export async function openEngine(databaseUrl: string, count: number, receiver: string) {
  const args = [databaseUrl, receiver, '1', String(count)]
  const filler = fork(new URL('../../deliveries/fill.ts', import.meta.url), args, { execArgv: [] })
  const [status] = await once(filler, 'exit')
  if (status !== 0) throw new Error('the database was not filled')
  let host: EngineHost | undefined
  return {
    async start() {
      host = await openEngineHost(engineSettings(databaseUrl), { log })
    },
    async stop() {
      await host?.stop(1_000)
      const db = await openDatabase(databaseUrl, { log })
      const row = await db.get(sql`SELECT COUNT(*) AS left FROM gh_deliveries
        WHERE state <> 'delivered'`)
      await db.close()
      return Number(row!.left)
    },
  }
}
