/**
 * The monitoring store on SQLite: a file beside the database, which a thread of its own writes and
 * reads, so that neither delays a request. A file that cannot be used makes commands fail, and
 * nothing else.
 */
import { statSync } from 'node:fs'
import type { Log } from '../../kernel/log.ts'
import type { Row, Statement, Value } from '../../platform/storage/database.ts'
import { dialect } from '../../platform/storage/sqlite-schema.ts'
import { createTable } from '../../platform/storage/table-ddl.ts'
import type { Metric } from '../../platform/telemetry/metric.ts'
import { type FileFigures, FileThread } from './file-thread.ts'
import type { MonitoringStore } from './store.ts'
import { monitoringTables } from './tables.ts'

export interface MonitoringFile extends MonitoringStore {
  figures(): FileFigures
}

interface MonitoringFileOptions {
  /** The path of the file. */
  readonly file: string
  readonly log: Log
}

export function createMonitoringFile({ file, log }: MonitoringFileOptions): MonitoringFile {
  const ownTables = monitoringTables.filter(({ apart }) => apart)
  const tables = ownTables.flatMap((table) => createTable(dialect, table)).join(';\n')
  const thread = new FileThread({ file, tables }, log)
  const figures = () => thread.figures()
  const read = (rows: 'objects' | 'arrays', { sql, values }: Statement) =>
    thread.send({ rows, statement: { sql, values: [...values] } })
  const all = async <R extends Row>(statement: Statement) =>
    (await read('objects', statement)) as R[]
  return {
    isAwake: () => thread.isAwake,
    metrics: [failureMetric(figures)],
    figures,
    all,
    get: async <R extends Row>(statement: Statement) => (await all<R>(statement))[0],
    arrays: async (statement) => (await read('arrays', statement)) as Value[][],
    async write(statements) {
      const write = JSON.stringify(statements.map(({ sql, values }) => ({ sql, values })))
      return (await thread.send({ write })) as number[]
    },
    bytes: async () =>
      ['', '-wal'].reduce((sum, suffix) => {
        const size = statSync(file + suffix, { throwIfNoEntry: false })?.size ?? 0
        return sum + size
      }, 0),
    close: () => thread.end(),
  }
}

const failureMetric = (figures: () => FileFigures): Metric => ({
  name: 'gatehook_monitoring_file_failures_total',
  help: 'Commands to the monitoring file that failed, by reason, and renamed files.',
  type: 'counter',
  read() {
    const { failures, renamed } = figures()
    return Object.entries({ ...failures, renamed }).map(([reason, value]) => ({
      value,
      labels: { reason },
    }))
  },
})
